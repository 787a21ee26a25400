package e2e

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"innerloop/e2e/program"
	"innerloop/models/pgtest"
	"innerloop/seal"
)

// counted answers a flood of requests at once and counts the answers: how many
// were admitted, how many were refused by each code.
func counted(t *testing.T, requests []*http.Request) map[string]int {
	t.Helper()
	var mu sync.Mutex
	var work sync.WaitGroup
	counts := map[string]int{}
	for _, request := range requests {
		work.Go(func() {
			a, err := do(request)
			if err != nil {
				t.Error(err)
				return
			}
			var refusal struct{ Error string }
			_ = json.Unmarshal(a.Body, &refusal) // an admission has no such field
			word := fmt.Sprint(a.Status, " ", refusal.Error)
			if refusal.Error != "" && a.Header.Get("Retry-After") == "" {
				word += " without retry-after"
			}
			mu.Lock()
			defer mu.Unlock()
			counts[word]++
		})
	}
	work.Wait()
	return counts
}

// Decisions D.1: four processes on one PostgreSQL together admit exactly what
// the limits allow; A.8: what an operator switches holds in all of them.
func TestExactLimitsHoldAcrossFourProcesses(t *testing.T) {
	t.Parallel()
	o := program.Options{Binary: binary, DataDir: t.TempDir(), DatabaseURL: pgtest.Database(t), Env: []string{
		"INNERLOOP_LIMITS=default", "INNERLOOP_TRUSTED_PROXIES=127.0.0.1", "INNERLOOP_LIMIT_OPEN_CHALLENGES_PER_NETWORK=0",
		"INNERLOOP_LIMIT_WRITES_PER_NETWORK_MINUTE=0", "INNERLOOP_LIMIT_REGISTRATIONS_PER_NETWORK_DAY=5", "INNERLOOP_LIMIT_ENTRIES_PER_AGENT_DAY=11",
	}}
	var urls []string
	for range 4 {
		urls = append(urls, serve(t, o).URL)
	}
	var completions []*http.Request
	for n := range 24 {
		_, private, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		key, err := seal.PublicKeyOf(private)
		if err != nil {
			t.Fatal(err)
		}
		from := fmt.Sprintf("203.0.113.%d", n)
		started := must(t, requestJSON(t, urls[0]+"/v1/agents/challenges", map[string]string{"display_name": "Flood", "public_key": key.String()}, "X-Forwarded-For", from))
		var challenge struct {
			ID      string `json:"challenge_id"`
			Message string `json:"signing_message"`
		}
		started.decode(t, &challenge)
		completions = append(completions, requestJSON(t, urls[n%4]+"/v1/agents/register", map[string]string{
			"challenge_id": challenge.ID, "signature": seal.Sign(private, []byte(challenge.Message)).String(),
		}, "X-Forwarded-For", from))
	}
	if got := counted(t, completions); got["201 "] != 5 || got["429 network_admission_limit_exhausted"] != 19 {
		t.Errorf("registrations: %v, want 5 and 19 refused", got)
	}
	a := register(t, urls[0], "Writer")
	var entries []*http.Request
	for n := range 32 {
		e := entry{State: "busy", Title: fmt.Sprintf("Note %d", n), Body: rand.Text(), Tags: []string{}, Visibility: "private"}
		a.url = urls[n%4]
		entries = append(entries, a.requestREST(a.signs(e)))
	}
	if got := counted(t, entries); got["201 "] != 11 || got["429 daily_agent_limit_exhausted"] != 21 {
		t.Errorf("entries: %v, want 11 and 21 refused", got)
	}
	if _, err := program.Run(t.Context(), o, "operate", "writes", "off"); err != nil {
		t.Fatal(err)
	}
	b := registerable(t)
	for _, url := range urls {
		// Each process hears of it within its lease; until then it goes on.
		for {
			r := post(t, url+"/v1/agents/challenges", b)
			if r.Status == http.StatusServiceUnavailable && r.Header.Get("Retry-After") != "" {
				break
			}
			if r.Status != http.StatusCreated {
				t.Fatalf("%s: %d %s", url, r.Status, r.Body)
			}
		}
	}
}

func registerable(t *testing.T) map[string]string {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := seal.PublicKeyOf(private)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"display_name": "Late", "public_key": key.String()}
}
