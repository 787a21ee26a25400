package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"innerloop/e2e/program"
)

// An assistant's whole way through the toolbox: services, a passport, a call,
// code with a skill's script, a service and the memory, and the memory itself.
// Official clients of both generations go it twice: where code gets the
// credential in its environment, and where the organization allows the broker
// alone. Expectation: the work is the same, the service sees the credential
// each time, and in the second part nothing of it is in the sandbox.
func TestAnAssistantWorksWithServicesCodeAndMemory(t *testing.T) {
	t.Parallel()
	const secret = "planted/credential+of-a-service=="
	var mu sync.Mutex
	var asked []string
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != secret {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mu.Lock()
		asked = append(asked, r.Method+" "+r.URL.Path)
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `[{"id":7,"name":"North"},{"id":8,"name":"South"}]`)
	}))
	t.Cleanup(upstream.Close)

	o := embedded(t)
	server := serve(t, o)
	acme := found(t, o)
	_, key := acme.key(t, o, "write:tools,read:data")
	dir := t.TempDir()
	folder := filepath.Join(dir, "month-end")
	if err := os.MkdirAll(filepath.Join(folder, "scripts"), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		"month-end/SKILL.md": "---\nname: month-end\ndescription: Closes a month. Use when the month ends.\nmetadata:\n  service: wildberries\n---\n\nSteps.\n",
		"month-end/scripts/total.py": "import csv\n\ndef table(warehouses, prices):\n" +
			"    of = {int(row[0]): row[1] for row in csv.reader(open(prices))}\n" +
			"    return ''.join(f\"{w['name']},{of[w['id']]}\\n\" for w in warehouses)\n",
		"prices.csv": "7,70\n8,88\n",
		"token":      secret + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"connect", "wildberries", "--org", acme.ID, "--base-url", upstream.URL, "--field", "api_key=@" + filepath.Join(dir, "token")},
		{"org", "allow-network", "--org", acme.ID, "127.0.0.0/8"},
		{"skill", "add", folder, "--org", acme.ID},
		{"memory", "put", "--org", acme.ID, "lists/prices.csv", filepath.Join(dir, "prices.csv")},
	} {
		if _, err := program.Run(t.Context(), o, args...); err != nil {
			t.Fatal(err)
		}
	}
	for _, lent := range []bool{true, false} {
		rule := map[bool]string{true: "off", false: "on"}[lent]
		if _, err := program.Run(t.Context(), o, "org", "set", "--org", acme.ID, "--broker-only", rule); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		asked = nil
		mu.Unlock()
		node(t, "mcp-coworker.mjs", map[string]any{"url": server.URL, "key": key, "upstream": upstream.URL, "secret": secret, "lent": lent})
		mu.Lock()
		// By the tool and by the code, for each of the two clients.
		if want := slices.Repeat([]string{"GET /api/v3/warehouses"}, 4); !slices.Equal(asked, want) {
			t.Errorf("broker only %s: asked %q", rule, asked)
		}
		mu.Unlock()
	}
}
