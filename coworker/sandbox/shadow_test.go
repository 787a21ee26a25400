//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"strings"
	"testing"

	"innerloop/coworker/sandbox"
)

// TestAHomeTakesNoModulesPlace: what a key left in the home of its user is not
// imported instead of what the run of another key asks for, whose environment
// may hold more.
func TestAHomeTakesNoModulesPlace(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	names := "json coworker csv decimal linecache traceback site os _ast colorsys sitecustomize usercustomize multiprocessing numpy secrets"
	run(t, s, "u", `
import os, sys
spoiled = "import sys; sys.__stdout__.write('BROKEN ' + __name__)"
local = f".local/lib/python3.{sys.version_info[1]}/site-packages"
os.makedirs(local)
for name in "`+names+`".split():
    for folder in (".", local): open(f"{folder}/{name}.py", "w").write(spoiled)
open(local + "/x.pth", "w").write("import sys; sys.__stdout__.write('BROKEN pth')")
open("mine.py", "w").write("here = 'mine'")`)
	code := `
import json, csv, decimal, colorsys, secrets, coworker, mine
print(json.dumps([mine.here, coworker.there]))
import subprocess, sys
if sys.version_info >= (3, 11): # before, a Python that is started by code looks into the home first
    print(subprocess.run([sys.executable, "-c", "import json, coworker; print(coworker.there)"], capture_output=True, text=True).stdout)
1 / 0`
	for name, session := range map[string]*sandbox.Session{"a run": nil, "a session": {Name: "s"}} {
		r, err := s.Run(t.Context(), sandbox.Job{
			User: "u", Code: code, Session: session,
			Modules: []sandbox.File{{Path: "coworker.py", Body: []byte("there = 'ours'")}},
		})
		if err != nil {
			t.Fatal(err)
		}
		said := r.Stdout.Text + r.Stderr.Text
		if strings.Contains(said, "BROKEN") || !strings.HasPrefix(said, `["mine", "ours"]`) || !strings.Contains(said, "ZeroDivisionError") {
			t.Errorf("%s: %s", name, said)
		}
	}
}
