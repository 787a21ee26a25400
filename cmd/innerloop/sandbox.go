package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"innerloop/coworker/connect"
	"innerloop/coworker/memory"
	"innerloop/coworker/repl"
	"innerloop/coworker/sandbox"
	"innerloop/coworker/skills"
	"innerloop/handlers"
)

// sandboxDir is where homes and runs are kept.
func sandboxDir(c Config) string { return filepath.Join(c.DataDir, "sandbox") }

// openSandbox tries whether code can run here; without a sandbox nothing does.
func (h *house) openSandbox(ctx context.Context, c Config, log *slog.Logger) error {
	if c.Sandbox == "off" {
		return nil
	}
	packages := c.SandboxPackages
	if packages != "" {
		var err error
		if packages, err = filepath.Abs(packages); err != nil {
			return fmt.Errorf("find the packages of the sandbox: %w", err)
		}
		if info, err := os.Stat(packages); err != nil || !info.IsDir() {
			return errors.New("INNERLOOP_SANDBOX_PACKAGES must name a folder")
		}
	}
	sessions := c.SandboxSessions
	if sessions == 0 {
		sessions = -1 // none
	}
	// Users of another database are unknown here, and their homes with them.
	homes, err := h.store.Instance(ctx, instanceID())
	if err != nil {
		return err
	}
	h.cells, err = sandbox.New(ctx, sandbox.Options{
		Driver: sandboxDriver(c), Dir: sandboxDir(c), Packages: packages, Homes: homes, Try: strings.Fields(repl.Packages), Slots: 2 * runtime.NumCPU(),
		Sessions: sessions, SessionsPerUser: c.SandboxSessionsPerUser, Logger: log,
	})
	return err
}

// repl makes what runs code, unless that is switched off.
func (h *house) repl(engine *connect.Engine, keeper *connect.Keeper, files *memory.Memory, shelf *skills.Shelf, log *slog.Logger) (*repl.REPL, error) {
	return repl.New(repl.Options{
		Sandbox: h.cells, Coworker: h.toolbox, Engine: engine, Rules: keeper, Memory: files, Skills: shelf, Logger: log, Now: time.Now,
		Roads: func(networks []netip.Prefix, own string) repl.Road { return h.ways.For(networks, own) },
	})
}

// sandboxDriver is what was asked for by name, or our own.
func sandboxDriver(c Config) sandbox.Driver {
	if c.Sandbox == "auto" {
		return sandbox.Native
	}
	return sandbox.Driver(c.Sandbox)
}

// instanceID is a name for a database that has none yet.
func instanceID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return "db_" + hex.EncodeToString(b[:])
}

// sandboxHealth is the sandbox as the health answer tells it; nil when it is
// switched off.
func sandboxHealth(c Config, s sandbox.Status) *handlers.SandboxHealth {
	if c.Sandbox == "off" {
		return nil
	}
	return &handlers.SandboxHealth{Available: s.Available, Driver: s.Driver, Memory: s.Memory}
}

// tellSandbox says at the start what runs code here, or why nothing does.
func tellSandbox(log *slog.Logger, c Config, f repl.Facts) {
	switch {
	case c.Sandbox == "off":
		log.Info("sandbox off")
	case f.Status.Available:
		log.Info("sandbox ready", "driver", f.Status.Driver, "memory bound by", f.Status.Memory, "python", f.Status.Python, "packages", strings.Join(f.Packages, ", "))
	case c.Sandbox != "auto": // asked for by name; the sandbox itself has warned
		log.Error("INNERLOOP_SANDBOX asks for a sandbox that this machine does not give", "step", f.Status.Failed)
	}
}

func newSandbox(s surroundings) *cobra.Command {
	ps := &cobra.Command{
		Use: "ps", Short: "List the code that runs now", Args: noArguments,
		Long: "Lists what runs in the sandbox folder of the data folder, of every server that uses it: runs, and sessions with the time since when nothing runs in them. The code itself is not shown.",
	}
	declareSettings(ps.Flags())
	asJSON := jsonFlag(ps)
	ps.RunE = func(cmd *cobra.Command, _ []string) error {
		config, err := s.config(cmd)
		if err != nil {
			return err
		}
		runs, err := sandbox.Runs(sandboxDir(config))
		if errors.Is(err, fs.ErrPermission) {
			return errors.New("the sandbox folder can be read by the server's user alone")
		}
		if err != nil {
			return fmt.Errorf("read the sandbox folder: %w", err)
		}
		type row struct {
			ID           string `json:"run_id"`
			User         string `json:"user_id"`
			Organization string `json:"organization_id"`
			Key          string `json:"key_id"`
			Server       int    `json:"server_pid"`
			Started      string `json:"started_at"`
			Timeout      int64  `json:"timeout_ms"`
			Session      string `json:"session,omitempty"`
			Idle         *int64 `json:"idle_ms,omitempty"` // of a session in which nothing runs
		}
		rows, lines := []row{}, []string{}
		for _, r := range runs {
			org, key, _ := strings.Cut(r.Label, " ")
			one := row{r.ID, clean(r.User), clean(org), clean(key), r.Server, r.Started.Format("2006-01-02T15:04:05.000Z"), r.Timeout, clean(r.Session), nil}
			line := strings.Join([]string{one.ID, one.User, one.Organization, one.Key, one.Started}, "  ")
			if one.Session != "" {
				line += "  session " + one.Session
			}
			if r.Idle != nil {
				idle := max(time.Since(*r.Idle).Milliseconds(), 0)
				one.Idle = &idle
				line += fmt.Sprintf("  idle for %d s", idle/1000)
			}
			rows = append(rows, one)
			lines = append(lines, line)
		}
		if len(lines) == 0 {
			lines = []string{"nothing runs"}
		}
		return s.tell(*asJSON, struct {
			Runs []row `json:"runs"`
		}{rows}, lines...)
	}
	return group("sandbox", "Code of assistants that runs now", ps)
}
