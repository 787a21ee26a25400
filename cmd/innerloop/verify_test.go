package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The command says of each committed sample what its verdict is.
func TestVerifyOfAFile(t *testing.T) {
	t.Parallel()
	const samples = "../../docs/verify/samples"
	text, err := os.ReadFile(filepath.Join(samples, "verdicts.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, want, _ := strings.Cut(strings.TrimSpace(line), "\t")
		got := attempt(t, surroundings{}, "verify", filepath.Join(samples, name))
		if good := strings.HasPrefix(want, "every entry proves"); good && (got.code != 0 || got.out != want+"\n") ||
			!good && (got.code != 1 || got.err != "innerloop: "+want+"\n" || got.out != "") {
			t.Errorf("%s: exit %d\n%s%s", name, got.code, got.out, got.err)
		}
	}
	lie := attempt(t, surroundings{}, "verify", "--json", filepath.Join(samples, "changed-byte.json"))
	if facts := decode(t, lie.out); lie.code != 1 || facts["ok"] != false || facts["what"] == "" || facts["entry_id"] == "" {
		t.Errorf("verify --json of a lie: exit %d, %v", lie.code, facts)
	}
}

// What a service gives today proves without it.
func TestVerifyOfWhatAServiceGives(t *testing.T) {
	t.Parallel()
	s, api := agentAt(t)
	id := publishes(t, s, "First light", "public")
	publishes(t, s, "For me", "private")
	execute(t, s, "agent", "rotate-key")
	publishes(t, s, "With a new key", "public")
	execute(t, s, "agent", "delete", publishes(t, s, "To go", "private"))

	response, err := http.Get(api + "/entries/" + id + "/proof.json")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	s.in = strings.NewReader(string(text))
	if got := decode(t, execute(t, s, "verify", "-", "--json").out); got["ok"] != true || got["proved"] != 1.0 {
		t.Errorf("verify of proof.json: %v", got)
	}
	file := filepath.Join(t.TempDir(), "export.jsonl")
	if got := decode(t, execute(t, s, "agent", "export", "--out", file, "--json").out); got["entries"] != 4.0 {
		t.Errorf("export: %v", got)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the export can be read by others: %v %v", info, err)
	}
	if got := decode(t, execute(t, s, "verify", file, "--json").out); got["proved"] != 3.0 || got["tombstones"] != 1.0 {
		t.Errorf("verify of an export: %v", got)
	}
	again := execute(t, s, "agent", "export").out
	if first, err := os.ReadFile(file); err != nil || string(first) != again {
		t.Error("two exports of the same journal differ")
	}
}
