//go:build linux && (amd64 || arm64)

package repl_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
	"innerloop/coworker/connect"
	"innerloop/coworker/coworkertest"
	"innerloop/coworker/memory"
	"innerloop/coworker/repl"
	"innerloop/coworker/sandbox"
	"innerloop/coworker/skills"
	"innerloop/coworker/vault"
	"innerloop/internal/egress"
	"innerloop/journal/journaltest"
)

// planted is the credential of the one service that is connected.
const planted = "planted+credential/5d1f0c=="

// services are the same for every test, and reading them takes a while.
var services = sync.OnceValues(func() (*catalog.Catalog, error) { return catalog.Load() })

// A world is an organisation with all that its code may use, on a real store, a
// real sandbox, and a service of the test.
type world struct {
	*coworkertest.C
	*repl.REPL
	t      *testing.T
	acme   coworker.Founding
	dir    string // of the sandbox
	o      repl.Options
	files  *memory.Memory
	shelf  *skills.Shelf
	keeper *connect.Keeper

	mu    sync.Mutex
	asked []string // method, path and Authorization of what the service was asked
	serve http.HandlerFunc
}

// newWorld makes a world. change may alter the sandbox.
func newWorld(t *testing.T, change func(*sandbox.Options)) *world {
	t.Helper()
	c := coworkertest.On(t, journaltest.Open(t))
	all, err := services()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{C: c, t: t, acme: c.Found("Acme"), dir: filepath.Join(t.TempDir(), "sandbox"), files: c.Memory(), shelf: c.Skills(all)}
	o := sandbox.Options{Dir: w.dir, Logger: slog.New(slog.DiscardHandler), Slots: 8, PerUser: 8}
	if change != nil {
		change(&o)
	}
	cells, err := sandbox.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cells.Close)
	if status := cells.Status(); !status.Available {
		t.Fatalf("this machine gives no sandbox: %s: %s", status.Failed, status.Cause)
	}
	master, err := c.J.Keys.For(vault.Purpose)
	if err != nil {
		t.Fatal(err)
	}
	cursors, err := c.J.Keys.For("connector cursor")
	if err != nil {
		t.Fatal(err)
	}
	safe, err := vault.New(master, c.J.Random)
	if err != nil {
		t.Fatal(err)
	}
	ways := &egress.Services{}
	w.keeper = connect.NewKeeper(c.J.Store.Coworker(), safe, all, c.Coworker)
	engine, err := connect.New(connect.Options{
		Catalog: all, Book: w.keeper, Cursors: cursors, Now: c.J.Clock.Now,
		Clients: func(networks []netip.Prefix, own string) connect.Doer { return ways.For(networks, own) },
	})
	if err != nil {
		t.Fatal(err)
	}
	w.o = repl.Options{
		Sandbox: cells, Coworker: c.Coworker, Engine: engine, Rules: w.keeper, Memory: w.files, Skills: w.shelf, Logger: o.Logger, Now: c.J.Clock.Now,
		Roads: func(networks []netip.Prefix, own string) repl.Road { return ways.For(networks, own) },
	}
	if w.REPL, err = repl.New(w.o); err != nil {
		t.Fatal(err)
	}
	return w
}

// reopen puts another memory in place.
func (w *world) reopen(o memory.Options) {
	w.t.Helper()
	var err error
	o.Coworker = w.Coworker
	if o.Cursors, err = w.J.Keys.For("memory cursor"); err != nil {
		w.t.Fatal(err)
	}
	if w.files, err = memory.New(o); err != nil {
		w.t.Fatal(err)
	}
	w.o.Memory = w.files
	if w.REPL, err = repl.New(w.o); err != nil {
		w.t.Fatal(err)
	}
}

// connected serves wildberries and lends the organisation a credential for it.
func (w *world) connected() *world {
	w.t.Helper()
	upstream := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.asked = append(w.asked, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
		serve := w.serve
		w.mu.Unlock()
		if serve != nil {
			serve(out, r)
			return
		}
		out.Header().Set("Content-Type", "application/json")
		_, _ = out.Write([]byte(`{"TS":"now"}`))
	}))
	w.t.Cleanup(upstream.Close)
	o := w.acme.Organization.ID
	_, err := w.keeper.Connect(w.t.Context(), coworker.Operator(), o, connect.Wish{Service: "wildberries", Fields: map[string]string{"api_key": planted}, BaseURL: upstream.URL})
	if err == nil {
		_, err = w.keeper.AllowNetwork(w.t.Context(), coworker.Operator(), o, "127.0.0.0/8")
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return w
}

// with is a caller of the organisation with a key of its own.
func (w *world) with(wish coworker.NewKey) coworker.Caller {
	w.t.Helper()
	_, secret := w.Key(w.acme, wish)
	return w.Caller(secret)
}

// ran runs code whose answer is wanted.
func (w *world) ran(who coworker.Caller, q repl.Request) *repl.Answer {
	w.t.Helper()
	q.Timeout = 30 * time.Second
	a, _, err := w.Run(w.t.Context(), who, q)
	if err != nil {
		w.t.Fatalf("%s: %v", q.Code, err)
	}
	return a
}

// refused runs code that must not be run.
func (w *world) refused(who coworker.Caller, q repl.Request, code coworker.Code) *coworker.Fault {
	w.t.Helper()
	a, _, err := w.Run(w.t.Context(), who, q)
	if a != nil {
		w.t.Errorf("it ran: %+v", a)
	}
	return coworkertest.WantCode(w.t, err, code)
}

// keep writes a file of a caller's memory.
func (w *world) keep(who coworker.Caller, path, text string) {
	w.t.Helper()
	w.J.Clock.Advance(time.Second)
	if _, _, err := w.files.Put(w.t.Context(), who, path, []byte(text), memory.Condition{}); err != nil {
		w.t.Fatal(err)
	}
}

// learn adds a skill of the given files to an organisation.
func (w *world) learn(o coworker.OrganizationID, id string, files map[string]string) {
	w.t.Helper()
	folder := fstest.MapFS{"SKILL.md": {Data: []byte("---\nname: " + id + "\ndescription: Does a thing.\n---\nSteps.\n"), Mode: 0o644}}
	for name, text := range files {
		folder[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	s, err := skills.ReadFolder(folder, id)
	if err == nil {
		_, err = w.shelf.Add(w.t.Context(), coworker.Operator(), o, s)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}
