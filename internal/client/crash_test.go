package client_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"innerloop/internal/client"
)

// A house of profiles: each crash gets a registered one of its own.
type crashing struct {
	w     *world
	state string
}

func (c crashing) profile(t testing.TB, name string) *client.Agent {
	t.Helper()
	a, err := client.Open(client.Options{
		StateHome: c.state, Profile: name, API: c.w.api, UserAgent: "test", Now: c.w.now, Random: rand.Reader, Transport: c.w.way,
	})
	must(t, err)
	return a
}

// run runs a command and crashes it at its nth step: the goroutine ends there,
// as the process would. It tells whether that step was reached.
func (c crashing) run(t testing.TB, name string, n int, command func(*client.Agent) error) (step string, err error) {
	t.Helper()
	a := c.profile(t, name)
	a.CrashAt(func(s string) {
		if n--; n == 0 {
			step = s
			runtime.Goexit() // deferred calls give the lock back, as the system does
		}
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = command(a)
	}()
	<-done
	return step, err
}

// The commands that change something, and what must be true after each.
func commands(t *testing.T, c crashing) map[string]func(a *client.Agent, name string) error {
	t.Helper()
	return map[string]func(a *client.Agent, name string) error{
		"write": func(a *client.Agent, name string) error {
			_, err := a.Write(t.Context(), entry("Of "+name), false)
			return err
		},
		"delete": func(a *client.Agent, name string) error {
			page, err := c.profile(t, name).List(t.Context(), client.Query{Visibility: "all", IncludeDeleted: true, Limit: 50})
			if err != nil {
				return err
			}
			oldest, _ := page.Entries[len(page.Entries)-1].Get("entry_id")
			id, _ := oldest.Text()
			_, err = a.Delete(t.Context(), id, false)
			return err
		},
		"edit the profile": func(a *client.Agent, name string) error {
			bio := "I am " + name
			_, err := a.EditProfile(t.Context(), client.Edit{Bio: &bio}, false)
			return err
		},
		"rotate": func(a *client.Agent, _ string) error {
			_, err := a.RotateKey(t.Context())
			return err
		},
		"add a key": func(a *client.Agent, name string) error {
			_, err := a.AddKey(t.Context(), name+"-second", false)
			return err
		},
		"revoke a key": func(a *client.Agent, name string) error {
			spare, err := c.profile(t, name+"-spare").Status(t.Context())
			if err != nil {
				return err
			}
			_, err = a.RevokeKey(t.Context(), spare.KeyID, false)
			return err
		},
		"commit to a recovery key": func(a *client.Agent, name string) error {
			_, err := a.SetRecovery(t.Context(), filepath.Join(c.state, name+".pem"), "", false)
			return err
		},
		"delete the identity": func(a *client.Agent, _ string) error {
			status, err := a.Status(t.Context())
			if err != nil {
				return err
			}
			_, err = a.DeleteIdentity(t.Context(), *status.AgentID)
			return err
		},
	}
}

// A command is ended at each of its steps in turn, between save and send, send
// and answer, answer and save. Run again it ends well, and nothing was done
// twice; the agent can sign.
func TestCrashAtAnyPointLeavesAUsableIdentity(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"write", "delete", "edit the profile", "rotate", "add a key", "revoke a key", "commit to a recovery key", "delete the identity"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			c := crashing{w: open(t), state: t.TempDir()}
			do := commands(t, c)[command]
			for n := 1; ; n++ {
				name := fmt.Sprintf("p%d", n)
				c.ready(t, name, command)
				step, err := c.run(t, name, n, func(a *client.Agent) error { return do(a, name) })
				if step == "" {
					must(t, err)
					c.usable(t, name)
					if n < 7 {
						t.Errorf("only %d steps; the table does not reach the command", n-1)
					}
					return
				}
				// What a person does next: the same command, or another one.
				if n%2 == 0 {
					if _, err := c.profile(t, name).List(t.Context(), client.Query{Visibility: "all", Limit: 1}); err != nil {
						t.Fatalf("after a crash at step %d (%s), a reading: %v", n, step, err)
					}
				}
				if err := do(c.profile(t, name), name); err != nil {
					t.Fatalf("after a crash at step %d (%s): %v", n, step, err)
				}
				c.done(t, name, command, step)
				c.usable(t, name)
			}
		})
	}
}

// ready registers a profile, with what the command needs.
func (c crashing) ready(t testing.TB, name, command string) {
	t.Helper()
	a := c.profile(t, name)
	_, err := a.Init(t.Context())
	must(t, err)
	_, err = a.Register(t.Context(), "Of "+name)
	must(t, err)
	switch command {
	case "delete":
		_, err = a.Write(t.Context(), entry("To go"), false)
	case "revoke a key":
		_, err = a.AddKey(t.Context(), name+"-spare", false)
	}
	must(t, err)
}

// done checks that the command's effect is there exactly once.
func (c crashing) done(t testing.TB, name, command, step string) {
	t.Helper()
	a := c.profile(t, name)
	list, err := a.List(t.Context(), client.Query{Visibility: "all", Limit: 50})
	must(t, err)
	keys, err := a.Keys(t.Context())
	must(t, err)
	active := 0
	for _, k := range keys {
		if k.Status == "active" {
			active++
		}
	}
	entries, total := map[string]int{"write": 1}[command], 1
	switch command {
	case "rotate":
		// A crash after the answer was certain leaves nothing to finish: the
		// same command is then a second rotation.
		if total = len(keys); total != 2 && total != 3 {
			t.Errorf("crash at %s: %d keys after two rotations at most", step, total)
		}
	case "add a key":
		total, active = 2, active-1
	case "revoke a key":
		total = 2
	}
	if len(list.Entries) != entries || len(keys) != total || active != 1 {
		t.Errorf("crash at %s: %d entries, %d keys, %d active; want %d, %d, 1", step, len(list.Entries), len(keys), active, entries, total)
	}
}

// usable checks that the agent can sign, and that nothing of the crash stays.
func (c crashing) usable(t testing.TB, name string) {
	t.Helper()
	a := c.profile(t, name)
	if _, err := a.Write(t.Context(), entry("Still here"), false); err != nil {
		t.Fatalf("%s cannot sign: %v", name, err)
	}
	status, err := a.Status(t.Context())
	must(t, err)
	if len(status.Pending) != 0 || status.KeyID != *status.SigningKeyID {
		t.Errorf("after all: %+v", status)
	}
}

// The recovery is crashed at each step too: a thief holds the key meanwhile.
func TestCrashDuringRecoveryLeavesAUsableIdentity(t *testing.T) {
	t.Parallel()
	c := crashing{w: open(t), state: t.TempDir()}
	for n := 1; ; n++ {
		name := fmt.Sprintf("p%d", n)
		c.ready(t, name, "")
		key := filepath.Join(c.state, name+".pem")
		_, err := c.profile(t, name).SetRecovery(t.Context(), key, "", false)
		must(t, err)
		recover := func(a *client.Agent) error {
			_, err := a.UseRecovery(t.Context(), key, "")
			return err
		}
		// A rotation waits, never sent, when the recovery begins.
		if n%2 == 0 {
			c.w.way.next(neverSent)
			_, err := c.profile(t, name).RotateKey(t.Context())
			wantCode(t, err, client.NoAnswer)
		}
		step, err := c.run(t, name, n, recover)
		if step == "" {
			must(t, err)
			c.usable(t, name)
			if n < 12 {
				t.Errorf("only %d steps", n-1)
			}
			return
		}
		// Past the last step the commitment is used up: then the profile is
		// recovered already.
		status, err := c.profile(t, name).Status(t.Context())
		must(t, err)
		waits := false
		for _, p := range status.Pending {
			waits = waits || p.Kind == "recovery"
		}
		if err := recover(c.profile(t, name)); err != nil && waits {
			t.Fatalf("after a crash at step %d (%s): %v", n, step, err)
		}
		if _, err := os.Stat(filepath.Join(c.state, "innerloop", "agents", name, "pending-recovery.json")); err == nil {
			t.Fatalf("after a crash at step %d (%s) the recovery still waits", n, step)
		}
		c.usable(t, name)
	}
}

// A registration is crashed at each step.
func TestCrashDuringRegistration(t *testing.T) {
	t.Parallel()
	c := crashing{w: open(t), state: t.TempDir()}
	both := func(ctx context.Context, a *client.Agent) error {
		if _, err := a.Init(ctx); err != nil {
			return err
		}
		_, err := a.Register(ctx, "Ada")
		return err
	}
	for n := 1; ; n++ {
		name := fmt.Sprintf("p%d", n)
		step, err := c.run(t, name, n, func(a *client.Agent) error { return both(t.Context(), a) })
		if step == "" {
			must(t, err)
			return
		}
		if err := both(t.Context(), c.profile(t, name)); err != nil {
			t.Fatalf("after a crash at step %d (%s): %v", n, step, err)
		}
		c.usable(t, name)
	}
}
