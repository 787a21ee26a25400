package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"innerloop/coworker"
	"innerloop/e2e/simulator"
)

// args are those of connector_execute, but for the service.
type args map[string]any

// with adds arguments to a copy.
func (a args) with(name string, value any) args {
	out := args{name: value}
	for n, v := range a {
		if n != name {
			out[n] = v
		}
	}
	return out
}

// A drive is what is done at one service, in this order. Each call belongs to
// a route of the simulator.
type drive struct {
	list      on     // read page by page
	pages     int    // that all of it has; 1 where the service has no pages
	rows      int    // that all of it has
	at, field string // where an answer has its rows, and what numbers them
	first     int    // number of the first row
	write     on
	undo      on // what cannot be undone; none where the file knows none
	fails     on
	code      string // the service's own word for that
	bare      bool   // it is told with the body alone
	busy      on
	stale     on             // with the credential that is no longer taken; the busy call when not given
	lapses    int            // tokens that end on the way
	counts    map[string]int // further routes and the requests that come to them
	more      []further
}

// on is a call and the route that it must come to.
type on struct {
	route string
	args  args
}

// A further call is one that only this service needs.
type further struct {
	on
	want    coworker.Code // "" for success
	retries int
	asked   int    // requests that come to the route
	rows    int    // that an answer of several pages has; 0 is not looked at
	tells   string // in the details of a refusal
}

// A reaction is what the client heard.
type reaction struct {
	OK    bool `json:"ok"`
	Value struct {
		Data    any
		Page    *connectorPage
		Retries int
		Code    string
		Retry   bool `json:"retryable"`
		Hint    string
		Details json.RawMessage
	} `json:"value"`
}

type connectorPage struct {
	Next  string
	More  bool `json:"has_more"`
	Pages int
}

// Attack: a key that may only read writes; what cannot be undone is not
// confirmed; each service refuses, hurries and forgets a credential in its own
// way. Expectation: through official clients of both generations each simulated
// service is read page by page, written to, and understood, with exactly the
// requests that this takes and none that the service would not know.
func TestConnectorsThroughOfficialClients(t *testing.T) {
	t.Parallel()
	o := embedded(t)
	services := map[string]*simulator.Server{}
	override := filepath.Join(o.DataDir, "connectors")
	if err := os.Mkdir(override, 0o700); err != nil {
		t.Fatal(err)
	}
	judge, ways := newJudge(gitHubDocument(t)), newLedger(t)
	for _, service := range simulator.All() {
		service.Watch = ways.watched(service.ID)
		if service.ID == "github" {
			service.Watch = func(e simulator.Exchange) {
				judge.take(e)
				ways.watched("github")(e)
			}
		}
		services[service.ID] = simulator.Start(service)
		t.Cleanup(services[service.ID].Close)
		shipped, err := os.ReadFile(filepath.Join("..", "coworker", "catalog", "services", service.ID+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(override, service.ID+".yaml"), simulator.Overridden(shipped), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := serve(t, o)
	acme := found(t, o)
	administer(t, o, &struct{}{}, "org", "allow-network", "--org", acme.ID, "127.0.0.0/8")
	var reader struct{ Key string }
	administer(t, o, &reader, "key", "create", "--org", acme.ID, "--scopes", "write:tools", "--class", "read")
	_, worker := acme.key(t, o, "write:tools")
	base := server.URL + "/api/v1/organizations/" + acme.ID
	if status, body := asked(t, http.MethodPatch, base+"/settings", acme.Key, `{"must_confirm":true}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}

	threads := map[string][]map[string]any{}
	for _, service := range simulator.All() {
		d, ok := drives()[service.ID]
		if !ok {
			t.Fatalf("nothing is done at %s", service.ID)
		}
		id := joined(t, base, acme.Key, services[service.ID].URL, service.ID, "main", service.Good)
		if status, body := asked(t, http.MethodPost, base+"/connections/"+id+"/check", acme.Key, ""); status != http.StatusOK {
			t.Errorf("the check of %s: %d %s", service.ID, status, body)
		}
		ways.connected(service)
		joined(t, base, acme.Key, services[service.ID].URL, service.ID, "stale", service.Stale)
		threads[service.ID] = d.calls()
	}
	for id, results := range talked(t, map[string]any{
		"url": server.URL, "keys": map[string]string{"worker": worker, "reader": reader.Key}, "threads": threads,
	}) {
		t.Run(id, func(t *testing.T) { drives()[id].holds(t, results, services[id]) })
		for i, r := range results {
			call, _ := threads[id][i]["args"].(args)
			ways.answered(id, call, r)
		}
	}
	t.Run("kinds", ways.holds)
	states(t, base, acme.Key)
	// What GitHub was sent and what it said is as GitHub's own document has it.
	judge.holds(t, map[string]int{"GET 200": 10, "GET 401": 1, "GET 403": 2, "POST 201": 1, "POST 422": 1, "PUT 200": 1, "by number": 2})
	total := 0
	for _, s := range services {
		total += s.Total()
	}
	calls := 0
	for _, thread := range threads {
		calls += len(thread)
	}
	t.Logf("%d services, %d calls, %d requests", len(services), calls, total)
}

// joined makes a connection through REST.
func joined(t *testing.T, base, key, address, service, name string, c simulator.Credential) string {
	t.Helper()
	facts := map[string]any{"service": service, "name": name, "fields": c.Fields, "base_url": address}
	if c.Auth != "" {
		facts["auth"] = c.Auth
	}
	if c.Params != nil {
		facts["params"] = c.Params
	}
	wish, err := json.Marshal(facts)
	if err != nil {
		t.Fatal(err)
	}
	status, body := asked(t, http.MethodPost, base+"/connections", key, string(wish))
	var made struct {
		ID string `json:"connection_id"`
	}
	if err := json.Unmarshal([]byte(body), &made); err != nil || status != http.StatusCreated {
		t.Fatalf("%s %s: %d %s", service, name, status, body)
	}
	return made.ID
}

// states holds that every stale connection is known to be, and no other is.
func states(t *testing.T, base, key string) {
	t.Helper()
	_, body := asked(t, http.MethodGet, base+"/connections?limit=500", key, "")
	var list struct {
		Items []struct{ Service, Name, State string }
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil || len(list.Items) == 0 {
		t.Fatalf("%v: %s", err, body)
	}
	for _, c := range list.Items {
		if want := map[string]string{"main": "connected", "stale": "reconnect"}[c.Name]; c.State != want {
			t.Errorf("%s %s is %s, want %s", c.Service, c.Name, c.State, want)
		}
	}
}

// talked runs the clients.
func talked(t *testing.T, in map[string]any) map[string][]reaction {
	t.Helper()
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), nodeBinary(t), "connectors.mjs")
	command.Dir, command.Stdin = "node", bytes.NewReader(text)
	var errs bytes.Buffer
	command.Stderr = &errs
	out, err := command.Output()
	results := map[string][]reaction{}
	if err == nil {
		err = json.Unmarshal(out, &results)
	}
	if err != nil {
		t.Fatalf("connectors.mjs: %v\n%s", err, errs.String())
	}
	return results
}

// calls are a drive's in the order of holds.
func (d drive) calls() []map[string]any {
	var calls []map[string]any
	add := func(key string, a args) { calls = append(calls, map[string]any{"key": key, "args": a}) }
	add("reader", d.list.args.with("max_pages", 2))
	if d.pages > 2 {
		add("reader", d.list.args.with("max_pages", 10).with("page", "@next"))
	}
	add("reader", d.write.args)
	add("worker", d.write.args)
	if d.undo.args != nil {
		add("worker", d.undo.args)
		add("worker", d.undo.args.with("confirm", true))
	}
	add("worker", d.fails.args)
	add("worker", d.busy.args)
	stale := d.stale
	if stale.args == nil {
		stale = d.busy
	}
	add("worker", stale.args.with("connection", "stale"))
	add("worker", stale.args.with("connection", "stale"))
	for _, one := range d.more {
		add("worker", one.args)
	}
	return calls
}

// holds compares what was heard, and what came to the simulator, with what
// was to be.
func (d drive) holds(t *testing.T, results []reaction, s *simulator.Server) {
	t.Helper()
	next := func() reaction {
		if len(results) == 0 {
			t.Fatal("an answer is missing")
		}
		r := results[0]
		results = results[1:]
		return r
	}
	wants := func(what string, code coworker.Code) reaction {
		t.Helper()
		r := next()
		if r.OK != (code == "") || r.Value.Code != string(code) {
			t.Errorf("%s: got %q %s %s, want %q", what, r.Value.Code, r.Value.Hint, r.Value.Details, code)
		}
		return r
	}
	count := func(what string, o on, want int) {
		t.Helper()
		if got := s.Count(o.route); got != want {
			t.Errorf("%s: %d requests for %s, want %d", what, got, o.route, want)
		}
	}

	seen := wants("the first pages", "")
	got := d.numbers(t, seen.Value.Data)
	switch page := seen.Value.Page; {
	case d.pages == 1:
		if page != nil {
			t.Errorf("a service without pages answers with %+v", page)
		}
	case page == nil || page.Pages != 2 || page.More != (d.pages > 2):
		t.Errorf("the first pages: %+v of %d", page, d.pages)
	}
	if d.pages > 2 {
		rest := wants("the pages after them", "")
		got = append(got, d.numbers(t, rest.Value.Data)...)
		if page := rest.Value.Page; page == nil || page.Pages != d.pages-2 || page.More || page.Next != "" {
			t.Errorf("the last pages: %+v of %d", page, d.pages)
		}
	}
	if len(got) != d.rows {
		t.Errorf("%d rows, want %d: %v", len(got), d.rows, got)
	}
	for i, n := range got {
		if n != fmt.Sprint(d.first+i) {
			t.Fatalf("row %d is %s, want %d", i, n, d.first+i)
		}
	}
	count("paging", d.list, d.pages)

	wants("a key that may only read", coworker.PermissionDenied)
	wants("writing", "")
	count("writing", d.write, 1)
	if d.undo.args != nil {
		wants("not confirmed", coworker.ConfirmationRequired)
		wants("confirmed", "")
		count("confirmed", d.undo, 1)
	}
	failed := wants("refused", coworker.UpstreamError)
	word := `"upstream_code":"` + d.code + `"`
	if d.bare {
		word = d.code
	}
	if d.code == "" || !strings.Contains(string(failed.Value.Details), word) {
		t.Errorf("refused: %s, want the code %q", failed.Value.Details, d.code)
	}
	if failed.Value.Retry {
		t.Errorf("refused: may be repeated as it is: %s", failed.Value.Details)
	}
	count("refused", d.fails, 1)
	if waited := wants("too many", ""); waited.Value.Retries != 1 {
		t.Errorf("too many: %d retries", waited.Value.Retries)
	}
	for range 2 {
		if gone := wants("the stale credential", coworker.NotConnected); !strings.Contains(string(gone.Value.Details), `"reason":"revoked"`) {
			t.Errorf("the stale credential: %s", gone.Value.Details)
		}
	}
	count("too many", d.busy, 2)
	for _, one := range d.more {
		r := wants(one.route, one.want)
		if r.Value.Retries != one.retries {
			t.Errorf("%s: %d retries, want %d", one.route, r.Value.Retries, one.retries)
		}
		if !strings.Contains(string(r.Value.Details), one.tells) {
			t.Errorf("%s: %s does not tell %s", one.route, r.Value.Details, one.tells)
		}
		if list, _ := r.Value.Data.([]any); one.rows > 0 && len(list) != one.rows {
			t.Errorf("%s: %d rows, want %d", one.route, len(list), one.rows)
		}
		count(one.route, one.on, one.asked)
	}
	for route, want := range d.counts {
		count("beside", on{route: route}, want)
	}
	for _, never := range []simulator.Trouble{simulator.NoPath, simulator.NoMethod, simulator.NoType, simulator.NoHeader} {
		if n := s.Refused(never); n != 0 {
			t.Errorf("%d requests refused: %s", n, never)
		}
	}
	if n := s.Refused(simulator.NoCredential); n != 1+d.lapses {
		t.Errorf("%d requests refused for their credential, want %d: a credential that is known to be stale is not sent again", n, 1+d.lapses)
	}
}
