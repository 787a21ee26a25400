package e2e

import (
	"encoding/json"
	"net/http"
	"testing"

	"innerloop/e2e/program"
)

// A said is an answer of connector_execute with all that a caller reads: its
// text, and what the text says.
type said struct {
	Text   string
	Failed bool
	Answer struct {
		File, Hint string
		Page       *struct{ Next string }
	}
	Refusal struct {
		Code, Hint string
		Retryable  bool
		Details    json.RawMessage
	}
}

// says calls connector_execute and reads the whole answer.
func says(t *testing.T, server *program.Server, key string, arguments map[string]any) said {
	t.Helper()
	answer, failed := execute(t, server, key, arguments)
	s := said{Text: answer.said, Failed: failed}
	into := any(&s.Answer)
	if failed {
		into = &s.Refusal
	}
	if err := json.Unmarshal([]byte(s.Text), into); err != nil {
		t.Fatalf("%v: %s", err, s.Text)
	}
	return s
}

// connected stores a connection of an organisation over REST.
func connected(t *testing.T, server *program.Server, g organization, wish map[string]any) (id string) {
	t.Helper()
	raw, err := json.Marshal(wish)
	if err != nil {
		t.Fatal(err)
	}
	status, body := asked(t, http.MethodPost, server.URL+"/api/v1/organizations/"+g.ID+"/connections", g.Key, string(raw))
	var made struct {
		ID string `json:"connection_id"`
	}
	if err := json.Unmarshal([]byte(body), &made); err != nil || status != http.StatusCreated {
		t.Fatalf("%d %s", status, body)
	}
	return made.ID
}

// admitLoopback lets connections of an organisation lead to this machine, as
// its operator may.
func admitLoopback(t *testing.T, o program.Options, g organization) {
	t.Helper()
	if _, err := program.Run(t.Context(), o, "org", "allow-network", "--org", g.ID, "127.0.0.0/8"); err != nil {
		t.Fatal(err)
	}
}
