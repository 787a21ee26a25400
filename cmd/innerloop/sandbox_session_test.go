package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"innerloop/coworker/connect"
)

// A kept is what an answer says of a session.
type kept struct {
	ran
	Reason string `json:"state_reason"`
	Ends   string `json:"session_ends_at"`
}

func inSession(t *testing.T, origin, key, code, more string) kept {
	t.Helper()
	text, err := json.Marshal(code)
	if err != nil {
		t.Fatal(err)
	}
	said, failed := callTool(t, origin, key, "repl_execute", `{"code":`+string(text)+more+`}`)
	var r kept
	if err := json.Unmarshal([]byte(said), &r); err != nil || failed != (r.Code != "") {
		t.Fatalf("%v: %s", err, said)
	}
	if failed {
		code, hint := r.Code, r.Hint
		if err := json.Unmarshal(r.Details, &r); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		r.Code, r.Hint = code, hint
	}
	return r
}

func (r kept) want(t *testing.T, what, result, state, reason string) {
	t.Helper()
	got := ""
	if r.Result != nil {
		got = *r.Result
	}
	if got != result || r.State != state || r.Reason != reason {
		t.Errorf("%s: %q, %s %q; not %q, %s %q\n%s%s", what, got, r.State, r.Reason, result, state, reason, r.Stderr, r.Details)
	}
}

// TestASessionIsTiedToItsKey keeps variables through a serving process, and
// loses them when the key, its scopes, the services, the credential or the
// skills are other than before; credentials and the way out hold call by call.
func TestASessionIsTiedToItsKey(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `"`+r.Header.Get("Authorization")+`"`)
	}))
	t.Cleanup(upstream.Close)
	p := places(t)["sqlite"](t)
	s := surroundings{environ: p.environ}
	execute(t, s, "migrate")
	made := decode(t, execute(t, s, "org", "create", "Acme", "--json").out)
	org, key := made["organization_id"].(string), made["key"].(string)
	lend := func(value string) {
		t.Helper()
		secret := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(secret, []byte(value+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		execute(t, s, "connect", "wildberries", "--org", org, "--base-url", upstream.URL, "--field", "api_key=@"+secret)
	}
	lend(plantedCredential)
	execute(t, s, "org", "allow-network", "--org", org, "127.0.0.0/8")
	second := decode(t, execute(t, s, "key", "create", "--org", org, "--json").out)
	other := second["key"].(string)
	origin := serving(t, s)

	const gone = "'x' in globals()"
	const reach = `
import os, urllib.request
def reach():
    r = urllib.request.Request(os.environ['WILDBERRIES_BASE_URL'] + '/ping', headers={'Authorization': os.environ['WILDBERRIES_API_KEY']})
    return len(urllib.request.urlopen(r).read())
x = 1`
	inSession(t, origin, key, reach, `,"session":"a","services":["wildberries"]`).want(t, "first", "", "fresh", "")
	r := inSession(t, origin, key, "reach() == 2 + len(os.environ['WILDBERRIES_API_KEY'])", `,"session":"a"`)
	if r.want(t, "second", "True", "kept", ""); r.Ends == "" {
		t.Error("its end is not told")
	}
	// The broker knows who calls, also from a kept process.
	inSession(t, origin, key, "import coworker\ncoworker.call('wildberries', 'GET', '/ping', module='common')['status'], x", `,"session":"a"`).want(t, "broker", "(200, 1)", "kept", "")
	inSession(t, origin, key, "os.environ['WILDBERRIES_API_KEY']", `,"session":"a"`).want(t, "masked", "'"+connect.Masked+"'", "kept", "")
	facts := decode(t, execute(t, s, "sandbox", "ps", "--json").out)
	if runs := facts["runs"].([]any); len(runs) != 1 || runs[0].(map[string]any)["session"] != "a" || runs[0].(map[string]any)["idle_ms"] == nil {
		t.Errorf("%v", facts)
	}
	if out := execute(t, s, "sandbox", "ps").out; !strings.Contains(out, "session a  idle for ") {
		t.Error(out)
	}
	inSession(t, origin, key, gone, `,"session":"a","services":["github"]`) // not connected: nothing was run
	inSession(t, origin, key, "x", `,"session":"a"`).want(t, "after a refusal", "1", "kept", "")
	lend(plantedCredential + "2")
	inSession(t, origin, key, gone, `,"session":"a"`).want(t, "another credential", "False", "lost", "credentials changed")
	inSession(t, origin, other, gone, `,"session":"a"`).want(t, "another key", "False", "lost", "key changed")
	inSession(t, origin, other, "x = 1", `,"session":"a"`).want(t, "kept by the other", "", "kept", "")
	inSession(t, origin, other, gone, `,"session":"a","services":["wildberries"]`).want(t, "other services", "False", "lost", "services changed")
	execute(t, s, "key", "update", second["key_id"].(string), "--class", "write")
	inSession(t, origin, other, gone, `,"session":"a"`).want(t, "narrower", "False", "lost", "scopes changed")
	r = inSession(t, origin, other, "sorted(n for n in os.environ if n.startswith('WILDBERRIES'))", `,"session":"a"`)
	if r.Stderr == "" { // os is not imported in the new process
		t.Errorf("narrower: %+v", r)
	}
	inSession(t, origin, other, "import os\n[n for n in os.environ if n.startswith('WILDBERRIES')]", `,"session":"a"`).want(t, "narrower", "[]", "kept", "")
	inSession(t, origin, other, gone, `,"session":"a","reset":true`).want(t, "reset", "False", "lost", "reset")
	r = inSession(t, origin, other, "print('before')\nwhile True: pass", `,"session":"a","timeout_seconds":1`)
	if r.want(t, "timeout", "", "lost", "timeout"); r.Code != "SANDBOX_TIMEOUT" || r.Stdout != "before\n" || !strings.Contains(r.Hint, "the session has ended") {
		t.Errorf("%+v", r)
	}
	inSession(t, origin, other, "import os\nos._exit(4)", `,"session":"a"`).want(t, "exit", "", "lost", "exited")
	// A key that is revoked takes its session along, though nobody calls.
	inSession(t, origin, other, "x = 1", `,"session":"a"`).want(t, "anew", "", "lost", "exited")
	execute(t, s, "key", "revoke", second["key_id"].(string))
	for deadline := time.Now().Add(time.Minute); ; {
		if runs := decode(t, execute(t, s, "sandbox", "ps", "--json").out)["runs"].([]any); len(runs) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("a session outlives its key")
		}
	}
	inSession(t, origin, key, gone, `,"session":"a"`).want(t, "after the revocation", "False", "lost", "key revoked")
}
