package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"innerloop/e2e/program"
)

// Official clients keep variables in named sessions. Then the server is killed
// while two of them are idle: nothing of them stays, and the next server says
// why their variables are gone; so it does after one that was stopped in order.
func TestSessionsOfPythonThroughOfficialClients(t *testing.T) {
	t.Parallel()
	o := embedded(t)
	server, err := program.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	acme := found(t, o)
	story := func(again bool) {
		t.Helper()
		node(t, "mcp-session.mjs", map[string]any{"url": server.URL, "key": acme.Key, "again": again})
	}
	story(false)
	var running struct {
		Runs []struct {
			User    string `json:"user_id"`
			Session string `json:"session"`
			Idle    *int64 `json:"idle_ms"`
		}
	}
	administer(t, o, &running, "sandbox", "ps")
	if len(running.Runs) != 2 || running.Runs[0].Idle == nil || running.Runs[0].User != acme.User || running.Runs[0].Session == running.Runs[1].Session {
		t.Errorf("%+v", running)
	}
	cells := below(t, server.Pid())
	if len(cells) < 4 { // of each session its first process and the interpreter
		t.Errorf("only %v", cells)
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	allGone(t, cells)
	if server, err = program.Start(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	story(true)
	cells = below(t, server.Pid())
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	allGone(t, cells)
	if left, err := filepath.Glob(filepath.Join(o.DataDir, "sandbox", "runs", "*")); err != nil || len(left) > 0 {
		t.Errorf("left: %q %v", left, err)
	}
	server = serve(t, o)
	story(true)
}

// allGone waits until processes are dead, if not yet collected by whoever
// inherited them.
func allGone(t *testing.T, pids []int) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for _, pid := range pids {
		for {
			raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
			if err != nil || bytes.HasPrefix(raw[bytes.LastIndexByte(raw, ')')+1:], []byte(" Z")) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("process %d outlives its server", pid)
			}
		}
	}
}
