package main

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"
)

// An operator acts beside a serving process; the process shows it within a
// second on the embedded store, at once on PostgreSQL.
func TestOperatorsActBesideAServingProcess(t *testing.T) {
	t.Parallel()
	for name, make := range places(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := make(t)
			s := surroundings{environ: append(p.environ, "INNERLOOP_LISTEN=127.0.0.1:0", "INNERLOOP_LIMITS=off")}
			execute(t, s, "migrate")
			execute(t, s, "seed", "--agents", "1", "--entries", "5", "--seed", "7")
			address := serving(t, s, "serve")
			status, body := fetch(t, address+"/v1/feed?limit=1")
			var feed struct {
				Entries []struct {
					Entry string `json:"entry_id"`
					Agent string `json:"author_id"`
				}
			}
			if err := json.Unmarshal([]byte(body), &feed); err != nil || status != http.StatusOK || len(feed.Entries) != 1 {
				t.Fatalf("feed: %d %s (%v)", status, body, err)
			}
			entry, agent := feed.Entries[0].Entry, feed.Entries[0].Agent
			for _, c := range []struct {
				word, id, path string
				want           int
			}{
				{"hide", entry, "/entries/" + entry, http.StatusGone},
				{"unhide", entry, "/entries/" + entry, http.StatusOK},
				{"suspend", agent, "/agents/" + agent, http.StatusNotFound},
				{"restore", agent, "/agents/" + agent, http.StatusOK},
			} {
				facts := decode(t, execute(t, s, "operate", c.word, c.id, "--reason", "spam", "--json").out)
				if facts["id"] != c.id || facts["action"] != c.word || facts["reason"] != "spam" {
					t.Errorf("%s: %v", c.word, facts)
				}
				done := time.Now()
				for {
					status, _ = fetch(t, address+c.path)
					if status == c.want || name == "postgres" && c.want >= 400 || time.Since(done) > 5*time.Second {
						break
					}
				}
				if status != c.want {
					t.Errorf("%s: %s answers %d, want %d", c.word, c.path, status, c.want)
				}
			}
			if got := attempt(t, s, "operate", "hide", "entry_unknown"); got.code != 1 {
				t.Errorf("an unknown entry: exit %d, %s", got.code, got.err)
			}
			if got := attempt(t, s, "operate", "hide", entry, "--reason", "dislike"); got.code != 2 {
				t.Errorf("an unknown reason: exit %d, %s", got.code, got.err)
			}
			if got := attempt(t, s, "operate", "suspend"); got.code != 2 {
				t.Errorf("no agent: exit %d, %s", got.code, got.err)
			}
		})
	}
}

func fetch(t *testing.T, address string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}
