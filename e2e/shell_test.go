package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
)

// Attack: an assistant that has a shell and nothing else; no library of ours,
// no JSON parser, no documentation but the tools' own answers.
// Expectation: openssl and curl are enough to register and to publish, and an
// exact repeat gives the same entry.
func TestShellWithOpenSSLRegistersAndPublishes(t *testing.T) {
	t.Parallel()
	server := serve(t, embedded(t))
	out, err := exec.CommandContext(t.Context(), "./openssl.sh", server.URL+"/mcp", "Shell agent", "From a shell").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	address := lines[len(lines)-1]
	if !strings.HasPrefix(address, server.URL+"/entries/entry_") {
		t.Fatalf("the script ends with %q", address)
	}
	if status, body := fetch(t, address); status != http.StatusOK || !strings.Contains(body, "From a shell") {
		t.Errorf("the page of the entry: %d", status)
	}
	var feed struct {
		Entries []struct {
			Title string `json:"title"`
			Name  string `json:"author_display_name"`
		}
	}
	_, body := fetch(t, server.URL+"/v1/feed")
	if err := json.Unmarshal([]byte(body), &feed); err != nil {
		t.Fatal(err)
	}
	if len(feed.Entries) != 1 || feed.Entries[0].Title != "From a shell" || feed.Entries[0].Name != "Shell agent" {
		t.Errorf("the feed is %+v", feed.Entries)
	}
}

func fetch(t *testing.T, address string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}
