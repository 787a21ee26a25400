package simulator_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"innerloop/e2e/simulator"
)

// Attack: each way to ask for something that a service does not know.
// Expectation: each is refused in the service's words and counted; what comes
// too soon is refused as often as the route says.
func TestEveryTroubleIsSeen(t *testing.T) {
	t.Parallel()
	service := simulator.Service{
		Auth:    func(r *simulator.Request) bool { return r.Header.Get("Key") == "good" },
		Headers: map[string]string{"Version": "2"},
		Refusal: map[simulator.Trouble]simulator.Reply{},
		Routes: []simulator.Route{
			{Call: "POST host.example/things/*", Type: "application/json", Busy: 1, Answer: func(r *simulator.Request) simulator.Reply {
				return simulator.Reply{Status: 200, Body: map[string]any{"part": r.Parts[0], "name": r.Body["name"]}}
			}},
		},
	}
	for i, trouble := range simulator.Troubles() {
		service.Refusal[trouble] = simulator.Reply{Status: 460 + i, Body: map[string]any{"word": string(trouble)}}
	}
	s := simulator.Start(service)
	defer s.Close()
	type sent struct{ method, path, kind, body, key, version string }
	ask := func(q sent) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), q.method, s.URL+q.path, strings.NewReader(q.body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Key": q.key, "Version": q.version, "Content-Type": q.kind} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		var body bytes.Buffer
		if _, err := body.ReadFrom(answer.Body); err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, body.String()
	}
	good := sent{"POST", "/host.example/things/7", "application/json", `{"name":"a"}`, "good", "2"}
	for trouble, change := range map[simulator.Trouble]func(*sent){
		simulator.NoCredential: func(q *sent) { q.key = "bad" },
		simulator.NoPath:       func(q *sent) { q.path += "/8" },
		simulator.NoMethod:     func(q *sent) { q.method = "PUT" },
		simulator.NoType:       func(q *sent) { q.kind = "text/plain" },
		simulator.NoHeader:     func(q *sent) { q.version = "1" },
		simulator.BadValue:     func(q *sent) { q.body = `{"name":` },
	} {
		q := good
		change(&q)
		if status, body := ask(q); status != service.Refusal[trouble].Status || !strings.Contains(body, string(trouble)) {
			t.Errorf("%s: %d %s", trouble, status, body)
		}
		if n := s.Refused(trouble); n != 1 {
			t.Errorf("%s is counted %d times", trouble, n)
		}
	}
	if status, _ := ask(good); status != service.Refusal[simulator.TooMany].Status {
		t.Errorf("too soon: %d", status)
	}
	before := s.Count(service.Routes[0].Call)
	if status, body := ask(good); status != 200 || !strings.Contains(body, `"part":"7"`) || !strings.Contains(body, `"name":"a"`) {
		t.Errorf("a good request: %d %s", status, body)
	}
	if n := s.Count(service.Routes[0].Call); n != before+1 || s.Total() != 8 {
		t.Errorf("%d counted after %d, %d in all", n, before, s.Total())
	}
}

// What is driven is what is shipped, but for the hosts.
func TestOnlyHostsAreOverridden(t *testing.T) {
	t.Parallel()
	for _, service := range simulator.All() {
		shipped, err := os.ReadFile(filepath.Join("..", "..", "coworker", "catalog", "services", service.ID+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		made := simulator.Overridden(shipped)
		if !bytes.Equal(bytes.ReplaceAll(made, []byte("https://simulator.example/"), []byte("https://")), shipped) {
			t.Errorf("%s: more than hosts is changed", service.ID)
		}
		if own := bytes.Contains(shipped, []byte(`base_url: "{`)); own == bytes.Contains(made, []byte("base_url: https://simulator.example/")) {
			t.Errorf("%s: a host of a module stays, or one is made up", service.ID)
		}
		if bytes.Contains(made, []byte("base_url: https://")) != bytes.Contains(made, []byte("base_url: https://simulator.example/")) {
			t.Errorf("%s: a host stays", service.ID)
		}
	}
}
