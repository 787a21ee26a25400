package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"innerloop/coworker/connect"
)

// A ran is what repl_execute answered.
type ran struct {
	Stdout, Stderr string
	Result         *string
	Exit           int `json:"exit_code"`
	Files          []struct{ Path string }
	Truncated      bool
	State          string

	// of a refusal
	Code    string
	Hint    string
	Details json.RawMessage
}

func python(t *testing.T, origin, key, code, more string) ran {
	t.Helper()
	text, err := json.Marshal(code)
	if err != nil {
		t.Fatal(err)
	}
	said, failed := callTool(t, origin, key, "repl_execute", `{"code":`+string(text)+more+`}`)
	var r ran
	if err := json.Unmarshal([]byte(said), &r); err != nil || failed != (r.Code != "") {
		t.Fatalf("%v: %s", err, said)
	}
	return r
}

// TestCodeReachesAServiceOnlyAsItMay runs code through a serving process: with
// a credential by the proxy, and by the broker with a key that gets none.
func TestCodeReachesAServiceOnlyAsItMay(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked []string
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.Method+" "+r.URL.String()+" "+r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"TS":"now","echo":"`+r.Header.Get("Authorization")+`"}`)
	}))
	t.Cleanup(upstream.Close)
	p := places(t)["sqlite"](t)
	s := surroundings{environ: p.environ}
	execute(t, s, "migrate")
	made := decode(t, execute(t, s, "org", "create", "Acme", "--json").out)
	org, key := made["organization_id"].(string), made["key"].(string)
	secret := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(secret, []byte(plantedCredential+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	execute(t, s, "connect", "wildberries", "--org", org, "--base-url", upstream.URL, "--field", "api_key=@"+secret)
	execute(t, s, "org", "allow-network", "--org", org, "127.0.0.0/8")
	narrow := decode(t, execute(t, s, "key", "create", "--org", org, "--class", "write", "--json").out)["key"].(string)
	origin := serving(t, s)

	// With its credential, through the proxy.
	const direct = `
import os, urllib.request, json
r = urllib.request.Request(os.environ['WILDBERRIES_BASE_URL'] + '/ping', headers={'Authorization': os.environ['WILDBERRIES_API_KEY']})
echo = json.load(urllib.request.urlopen(r))['echo']
print(echo, echo[::-1][::-1], len(echo))
open('out.txt', 'w').write('kept')
echo == os.environ['WILDBERRIES_API_KEY']`
	r := python(t, origin, key, direct, `,"services":["wildberries"]`)
	want := strings.Repeat(connect.Masked+" ", 2) + "27\n"
	if r.Exit != 0 || r.Stdout != want || r.Result == nil || *r.Result != "True" || r.State != "fresh" || len(r.Files) != 1 || r.Files[0].Path != "out.txt" {
		t.Errorf("with the credential: %+v", r)
	}
	mu.Lock()
	if !slices.Contains(asked, "GET /ping "+plantedCredential) {
		t.Errorf("asked %q", asked)
	}
	asked = nil
	mu.Unlock()
	// A service that is not named lends nothing.
	r = python(t, origin, key, direct, ``)
	if r.Exit != 1 || !strings.Contains(r.Stderr, "KeyError: 'WILDBERRIES_BASE_URL'") {
		t.Errorf("unnamed: %+v", r)
	}
	// Files persist, variables do not; an exception is a result.
	r = python(t, origin, key, "print(open('out.txt').read(), open('in.csv').read())\necho", `,"files":[{"path":"in.csv","text":"1,2"}]`)
	if r.Exit != 1 || r.Stdout != "kept 1,2\n" || !strings.Contains(r.Stderr, "NameError") {
		t.Errorf("afterwards: %+v", r)
	}
	// A key that may not do everything gets the broker, and nothing else.
	const brokered = `
import os, coworker, urllib.request
print(sorted(n for n in os.environ if 'WILDBERRIES' in n))
print(coworker.call('wildberries', 'GET', '/ping', module='common')['data']['TS'])
for wish in [dict(method='DELETE', path='/content/v2/tag/1', module='content'), dict(method='GET', path='/ping', module='common', confirm=True), dict(method='GET', path='/nowhere', module='none')]:
    try: print(coworker.call('wildberries', **wish))
    except coworker.Error as e: print(e.code)
try: coworker.call('ozon', 'POST', '/v1/seller/info')
except coworker.Error as e: print(e.code)
try: urllib.request.urlopen('` + "ADDRESS" + `/ping')
except urllib.error.HTTPError as e: print(e.code)`
	r = python(t, origin, narrow, strings.ReplaceAll(brokered, "ADDRESS", upstream.URL), `,"services":["wildberries"]`)
	if r.Exit != 0 || r.Stdout != "[]\nnow\nPERMISSION_DENIED\nINVALID_ARG\nINVALID_ARG\nPERMISSION_DENIED\n403\n" {
		t.Errorf("by the broker: %+v", r)
	}
	r = python(t, origin, key, "import coworker\ntry: coworker.call('wildberries', 'DELETE', '/content/v2/tag/1', module='content')\nexcept coworker.Error as e: print(e.code)\ncoworker.call('wildberries', 'GET', '/ping', module='common')['status']", ``)
	if r.Exit != 0 || r.Stdout != "CONFIRMATION_REQUIRED\n" || *r.Result != "200" {
		t.Errorf("what cannot be undone: %+v", r)
	}
	mu.Lock()
	if len(asked) != 2 || asked[0] != "GET /ping "+plantedCredential {
		t.Errorf("asked by the broker: %q", asked)
	}
	mu.Unlock()

	for arguments, code := range map[string]string{
		`,"services":["nonesuch"]`:                      "UNKNOWN_SERVICE",
		`,"services":["ozon"]`:                          "NOT_CONNECTED",
		`,"session":"a b"`:                              "INVALID_ARG",
		`,"session":"a","reset":1`:                      "INVALID_ARG",
		`,"timeout_seconds":121`:                        "INVALID_ARG",
		`,"skills":["nonesuch"]`:                        "NOT_FOUND",
		`,"files":[{"path":"../x","text":""}]`:          "INVALID_ARG",
		`,"files":[{"path":"x","text":"","base64":""}]`: "INVALID_ARG",
		`,"return_files":["/etc/passwd"]`:               "INVALID_ARG",
	} {
		if r := python(t, origin, key, "print('ran')", arguments); r.Code != code {
			t.Errorf("%s: %+v", arguments, r)
		}
	}
	r = python(t, origin, key, "print('before', flush=True)\nwhile True: pass", `,"timeout_seconds":1`)
	var details struct {
		Driver, Limit, Stdout string
		Allowed               int
	}
	if err := json.Unmarshal(r.Details, &details); err != nil || r.Code != "SANDBOX_TIMEOUT" || details.Stdout != "before\n" || details.Driver != "native" || details.Limit != "wall" || details.Allowed != 1000 {
		t.Errorf("%v %+v %s", err, r, r.Details)
	}
	if facts := decode(t, execute(t, s, "sandbox", "ps", "--json").out); len(facts["runs"].([]any)) != 0 {
		t.Errorf("still runs: %v", facts)
	}
}

// TestWithoutASandboxNothingRuns switches it off.
func TestWithoutASandboxNothingRuns(t *testing.T) {
	t.Parallel()
	p := places(t)["sqlite"](t)
	s := surroundings{environ: append(p.environ, "INNERLOOP_SANDBOX=off")}
	execute(t, s, "migrate")
	key := decode(t, execute(t, s, "org", "create", "Acme", "--json").out)["key"].(string)
	origin := serving(t, s)
	if r := python(t, origin, key, "1", ""); r.Code != "SANDBOX_UNAVAILABLE" || !strings.Contains(r.Hint, "switched it off") || string(r.Details) != `{"driver":null,"failed":"the operator switched it off"}` {
		t.Errorf("%+v", r)
	}
	s.environ = append(p.environ, "INNERLOOP_SANDBOX=docker")
	if got := attempt(t, s, "config"); got.code != 2 || !strings.Contains(got.err, "INNERLOOP_SANDBOX must be auto or native or bwrap or runsc or off") {
		t.Errorf("%+v", got)
	}
}
