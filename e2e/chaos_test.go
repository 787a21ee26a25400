package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"innerloop/e2e/program"
)

// How much chaos, and which. Without the variables a few rounds of a seed that
// the clock gives.
const (
	chaosRounds = "INNERLOOP_CHAOS_ROUNDS"
	chaosSeed   = "INNERLOOP_CHAOS_SEED"
)

// Attack: a server is killed again and again, at moments that nobody chose:
// before it listens, while a run is prepared, while it runs or writes to its
// home, while it ends, with a session that waits; or the first process of a run
// or its Python is killed under a living server. Expectation: the code ends with
// its server; after the next start no process, mount, control group or folder of
// a run is left, every file that a run had finished is whole, and a server that
// lost a run answers the next call. `make chaos` does 500 rounds.
func TestKillsAtRandomMomentsLeaveNothing(t *testing.T) {
	t.Parallel()
	rounds, seed := number(t, chaosRounds, 8), number(t, chaosSeed, time.Now().UnixNano())
	t.Logf("%d rounds of seed %d (%s=%[2]d repeats them)", rounds, seed, chaosSeed)
	const lanes = 2
	for lane := range int64(lanes) {
		t.Run("lane "+strconv.FormatInt(lane, 10), func(t *testing.T) {
			t.Parallel()
			c := newChaos(t, rand.New(rand.NewPCG(uint64(seed), uint64(lane)))) //nolint:gosec // to be repeated, not to be secret
			for round := lane; round < rounds && !t.Failed(); round += lanes {
				c.round(round)
			}
			c.end()
		})
	}
}

func number(t *testing.T, name string, otherwise int64) int64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// A chaos is a data folder on which servers live and die.
type chaos struct {
	t     *testing.T
	r     *rand.Rand
	o     program.Options
	acme  organization
	runs  map[string]bool // ids of runs that dead servers had
	kinds map[string]int
}

func newChaos(t *testing.T, r *rand.Rand) *chaos {
	t.Helper()
	o := embedded(t)
	// Every process of these servers tells by its program that it is theirs.
	own := filepath.Join(o.DataDir, "program")
	if err := os.Link(o.Binary, own); err != nil {
		t.Fatal(err)
	}
	o.Binary = own
	c := &chaos{t: t, r: r, o: o, runs: map[string]bool{}, kinds: map[string]int{}}
	s, err := program.Start(t.Context(), o) // makes the database
	if err != nil {
		t.Fatal(err)
	}
	c.acme = found(t, o)
	c.kill(s)
	return c
}

// finishes is code that finishes files whose names are the digests of what they
// hold, until it is ended.
const finishes = `
import hashlib, os, time
open("mark-%d", "w").close()
for n in range(200):
    body = os.urandom(20000)
    with open("part", "wb") as f:
        f.write(body)
    os.rename("part", "done-" + hashlib.sha256(body).hexdigest())
    for old in [f for f in os.listdir() if f.startswith("done-")][40:]:
        os.remove(old)
time.sleep(60)`

const deaf = `
import os, signal, time
for s in range(1, 65):
    try: signal.signal(s, signal.SIG_IGN)
    except (OSError, ValueError): pass
if os.fork() == 0: os.setsid()
open("mark-%d", "w").close()
time.sleep(60)`

// round lets one server live and die.
func (c *chaos) round(n int64) {
	kinds := []string{"before", "preparing", "running", "writing", "ending", "session", "first process", "python"}
	kind := kinds[c.r.IntN(len(kinds))]
	c.kinds[kind]++
	if kind == "before" {
		ctx, cancel := context.WithTimeout(c.t.Context(), c.span(600))
		defer cancel()
		if s, err := program.Start(ctx, c.o); err == nil {
			c.kill(s)
		} else {
			c.dead()
		}
		return
	}
	s, err := program.Start(c.t.Context(), c.o)
	if err != nil {
		c.t.Fatalf("round %d: %v", n, err)
	}
	c.clean(n)
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	switch kind {
	case "preparing":
		c.calls(ctx, s, fmt.Sprintf(deaf, n), "")
		time.Sleep(c.span(80))
	case "running":
		c.calls(ctx, s, fmt.Sprintf(deaf, n), "")
		c.marked(s, n)
	case "writing":
		c.calls(ctx, s, fmt.Sprintf(finishes, n), "")
		c.marked(s, n)
		time.Sleep(c.span(150))
	case "ending":
		c.calls(ctx, s, "print('x' * 200000)", "")
		time.Sleep(c.span(250))
	case "session":
		answer := c.calls(ctx, s, fmt.Sprintf("open('mark-%d', 'w').close()\nx = 1", n), "kept")
		c.marked(s, n)
		if c.r.IntN(2) == 0 {
			<-answer // it is at rest
		}
	default:
		answer := c.calls(ctx, s, fmt.Sprintf(deaf, n), "")
		c.marked(s, n)
		c.behead(s, kind == "python")
		<-answer
		c.calm(s.Pid())
		if said := runPython(c.t, s, c.acme.Key, "6 * 7"); !strings.Contains(said, `"result":"42"`) {
			c.t.Errorf("round %d: after the %s was killed: %s", n, kind, said)
		}
	}
	c.kill(s)
}

func (c *chaos) span(most int) time.Duration {
	return time.Duration(c.r.IntN(most*1000)) * time.Microsecond
}

// calls runs code, and closes the channel when there is an answer or nobody
// left to give one.
func (c *chaos) calls(ctx context.Context, s *program.Server, code, session string) <-chan struct{} {
	arguments := map[string]any{"code": code}
	if session != "" {
		arguments["session"] = session
	}
	if c.r.IntN(2) == 0 {
		arguments["files"] = []map[string]string{{"path": "in/data.txt", "text": strings.Repeat("x", 100_000)}}
	}
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": "repl_execute", "arguments": arguments},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/mcp", bytes.NewReader(body))
		if err != nil {
			return
		}
		r.Header.Set("Authorization", "Bearer "+c.acme.Key)
		r.Header.Set("Content-Type", "application/json")
		if answer, err := http.DefaultClient.Do(r); err == nil {
			_ = answer.Body.Close()
		}
	}()
	return ended
}

// home lists what is in the home.
func (c *chaos) home(pattern string) []string {
	c.t.Helper()
	found, err := filepath.Glob(filepath.Join(c.o.DataDir, "sandbox", "homes", "*", "*", pattern))
	if err != nil {
		c.t.Fatal(err)
	}
	return found
}

// marked waits until code says that it runs.
func (c *chaos) marked(s *program.Server, n int64) {
	c.t.Helper()
	c.until("the code does not run", s, func() bool { return len(c.home("mark-"+strconv.FormatInt(n, 10))) > 0 })
}

func (c *chaos) until(otherwise string, s *program.Server, holds func() bool) {
	c.t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			if s != nil {
				otherwise += "\n" + s.Log()
				_ = s.Kill()
			}
			c.t.Fatal(otherwise)
		}
	}
}

func (c *chaos) kill(s *program.Server) {
	c.t.Helper()
	if err := s.Kill(); err != nil {
		c.t.Fatal(err)
	}
	c.dead()
}

// dead waits until all that the server started is gone, and remembers what it
// leaves to the next one.
func (c *chaos) dead() {
	c.t.Helper()
	c.calm(0)
	left, err := filepath.Glob(filepath.Join(c.o.DataDir, "sandbox", "runs", "*"))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, dir := range left {
		c.runs[filepath.Base(dir)] = true
	}
}

// calm waits until no process but the server's is left.
func (c *chaos) calm(server int) {
	c.t.Helper()
	left := c.processes()
	c.until("processes outlive their server", nil, func() bool {
		for _, pid := range left {
			if pid != server && c.ours(strconv.Itoa(pid)) {
				return false
			}
		}
		// What these had begun by then is another matter.
		left = c.processes()
		return len(left) == 0 || len(left) == 1 && left[0] == server
	})
}

// processes are those of this data folder's servers: their program is the one
// in it, or they see it mounted.
func (c *chaos) processes() []int {
	c.t.Helper()
	var found []int
	names, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		c.t.Fatal(err)
	}
	for _, name := range names {
		if pid := filepath.Base(name); c.ours(pid) {
			n, _ := strconv.Atoi(pid)
			found = append(found, n)
		}
	}
	return found
}

func (c *chaos) ours(pid string) bool {
	exe, _ := os.Readlink("/proc/" + pid + "/exe")
	mounts, _ := os.ReadFile("/proc/" + pid + "/mountinfo")
	return strings.HasPrefix(exe, c.o.DataDir) || bytes.Contains(mounts, []byte(c.o.DataDir))
}

// behead kills the first process of what runs, or all that is not it.
func (c *chaos) behead(s *program.Server, python bool) {
	c.t.Helper()
	hit := 0
	for _, pid := range c.processes() {
		exe, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
		if pid == s.Pid() || strings.Contains(exe, "python") != python {
			continue
		}
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			hit++
		}
	}
	if hit == 0 {
		c.t.Error("there was nothing to kill")
	}
}

// clean looks for what dead servers left, once another has started.
func (c *chaos) clean(n int64) {
	c.t.Helper()
	for id := range c.runs {
		for _, pattern := range []string{filepath.Join(c.o.DataDir, "sandbox", "runs", id), "/sys/fs/cgroup/innerloop/" + id + "*", "/sys/fs/cgroup/*/innerloop/" + id + "*", "/sys/fs/cgroup/*/*/innerloop/" + id + "*"} {
			if left, err := filepath.Glob(pattern); err != nil || len(left) > 0 {
				c.t.Errorf("round %d: left: %q %v", n, left, err)
			}
		}
	}
	clear(c.runs)
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || bytes.Contains(mounts, []byte(c.o.DataDir)) {
		c.t.Errorf("round %d: mounts are left: %v", n, err)
	}
	for _, name := range c.home("done-*") {
		raw, err := os.ReadFile(name)
		sum := sha256.Sum256(raw)
		if err != nil || !strings.HasSuffix(name, hex.EncodeToString(sum[:])) {
			c.t.Errorf("round %d: a finished file of %d bytes is not whole: %v", n, len(raw), err)
		}
	}
}

// end has a last server end well, and looks for all that may be left.
func (c *chaos) end() {
	c.t.Helper()
	s, err := program.Start(c.t.Context(), c.o)
	if err != nil {
		c.t.Fatal(err)
	}
	c.clean(-1)
	// What was being put into a home is known to be nobody's after a minute.
	for _, name := range c.home(".incoming-*") {
		if err := os.Chtimes(name, time.Time{}, time.Now().Add(-2*time.Minute)); err != nil {
			c.t.Error(err)
		}
	}
	if said := runPython(c.t, s, c.acme.Key, "6 * 7"); !strings.Contains(said, `"result":"42"`) {
		c.t.Error(said)
	}
	if err := s.Stop(); err != nil {
		c.t.Error(err)
	}
	c.calm(0)
	left, err := filepath.Glob(filepath.Join(c.o.DataDir, "sandbox", "runs", "*"))
	if left = append(left, c.home(".incoming-*")...); err != nil || len(left) > 0 {
		c.t.Errorf("left at the end: %q %v", left, err)
	}
	c.t.Logf("kills: %v; finished files: %d", c.kinds, len(c.home("done-*")))
}
