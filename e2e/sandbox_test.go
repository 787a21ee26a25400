package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"innerloop/e2e/program"
)

// runPython runs code through a serving program and returns the tool's text.
func runPython(t *testing.T, s *program.Server, key, code string) string {
	t.Helper()
	text, err := json.Marshal(code)
	if err != nil {
		t.Fatal(err)
	}
	status, body := asked(t, http.MethodPost, s.URL+"/mcp", key, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"repl_execute","arguments":{"code":`+string(text)+`}}}`)
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	var said struct {
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(body), &said); err != nil || len(said.Result.Content) == 0 {
		t.Fatalf("%v: %s", err, body)
	}
	return said.Result.Content[0].Text
}

// below lists the processes that descend from one.
func below(t *testing.T, root int) []int {
	t.Helper()
	children := map[int][]int{}
	names, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			continue // it ended
		}
		fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		parent, _ := strconv.Atoi(string(fields[1]))
		children[parent] = append(children[parent], pid)
	}
	var all []int
	for next := []int{root}; len(next) > 0; {
		found := children[next[0]]
		next = append(next[1:], found...)
		all = append(all, found...)
	}
	return all
}

// Attack: the server is killed while code runs that ignores every signal and
// has left its session. Expectation: the code ends with it; the next server
// removes what belonged to the run, and the home is as it was. Random moments
// are in chaos_test.go.
func TestAKilledServerLeavesNoRunBehind(t *testing.T) {
	t.Parallel()
	o := embedded(t)
	server, err := program.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	acme := found(t, o)
	if said := runPython(t, server, acme.Key, "open('kept.txt', 'w').write('kept')"); !strings.Contains(said, `"exit_code":0`) {
		t.Fatal(said)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { // answered by nobody
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/mcp", strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"repl_execute","arguments":{"code":"import os, signal, time\nfor s in range(1, 32):\n  if s not in (9, 19): signal.signal(s, signal.SIG_IGN)\nif os.fork() == 0: os.setsid()\ntime.sleep(100)"}}}`))
		if err != nil {
			return
		}
		r.Header.Set("Authorization", "Bearer "+acme.Key)
		r.Header.Set("Content-Type", "application/json")
		if answer, err := http.DefaultClient.Do(r); err == nil {
			_ = answer.Body.Close()
		}
	}()
	var running struct {
		Runs []struct {
			ID   string `json:"run_id"`
			User string `json:"user_id"`
			Org  string `json:"organization_id"`
		}
	}
	deadline := time.Now().Add(30 * time.Second)
	var cells []int
	for { // until the first process, Python and its child are there
		if time.Now().After(deadline) {
			_ = server.Kill()
			t.Fatalf("nothing runs: %+v %v\n%s", running, cells, server.Log())
		}
		administer(t, o, &running, "sandbox", "ps")
		cells = below(t, server.Pid())
		if len(cells) >= 3 && len(running.Runs) == 1 {
			break
		}
	}
	if running.Runs[0].User != acme.User || running.Runs[0].Org != acme.ID {
		t.Errorf("%+v", running)
	}
	id := running.Runs[0].ID
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range cells {
		for {
			raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
			if err != nil || bytes.HasPrefix(raw[bytes.LastIndexByte(raw, ')')+1:], []byte(" Z")) {
				break // gone, or dead and not yet collected by whoever inherited it
			}
			if time.Now().After(deadline) {
				t.Fatalf("process %d outlives its server", pid)
			}
		}
	}
	again := serve(t, o)
	if said := runPython(t, again, acme.Key, "open('kept.txt').read()"); !strings.Contains(said, `"result":"'kept'"`) {
		t.Errorf("the home: %s", said)
	}
	administer(t, o, &running, "sandbox", "ps")
	left, err := filepath.Glob(filepath.Join(o.DataDir, "sandbox", "runs", "*"))
	if err != nil || len(left) > 0 || len(running.Runs) > 0 {
		t.Errorf("left: %q %+v %v", left, running, err)
	}
	groups, err := filepath.Glob("/sys/fs/cgroup/*/innerloop/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range groups {
		if strings.HasSuffix(group, id) {
			t.Errorf("left: %s", group)
		}
	}
}
