package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"innerloop/e2e/program"
	"innerloop/models/pgtest"
)

// A watcher reads /events as a browser does: it comes back after every break,
// to the address that holds then, with the last id it was given.
type watcher struct {
	t      *testing.T
	cut    int // the connection is broken after so many events; 0: never
	ctx    context.Context
	stop   context.CancelFunc
	ended  chan struct{}
	placed chan struct{} // closed when the first place was told

	mu      sync.Mutex
	urls    []string // taken in turn
	last    string
	entries []string // ids of entry events, in order
	others  []string // "name id" of other events
	breaks  int
	change  chan struct{}
}

func watch(t *testing.T, cut int, urls ...string) *watcher {
	t.Helper()
	w := &watcher{t: t, cut: cut, urls: urls, ended: make(chan struct{}), placed: make(chan struct{}), change: make(chan struct{})}
	w.ctx, w.stop = context.WithTimeout(t.Context(), 2*time.Minute)
	go w.run()
	t.Cleanup(w.leave)
	return w
}

// leave ends the watcher; a second call does nothing.
func (w *watcher) leave() {
	w.stop()
	<-w.ended
}

func (w *watcher) moveTo(urls ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.urls = urls
}

func (w *watcher) run() {
	defer close(w.ended)
	for w.ctx.Err() == nil {
		w.mu.Lock()
		url := w.urls[w.breaks%len(w.urls)]
		w.breaks++
		last := w.last
		w.mu.Unlock()
		if err := w.read(url, last); err != nil && w.ctx.Err() == nil {
			w.t.Error(err)
			return
		}
	}
}

// read reads one connection to its end. A server that is not there is no fault.
func (w *watcher) read(url, last string) error {
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/events", nil)
	if err != nil {
		return err
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusServiceUnavailable { // it is about to end
		return nil
	}
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/event-stream" {
		return fmt.Errorf("events: %d %v", answer.StatusCode, answer.Header)
	}
	lines, heard := bufio.NewReader(answer.Body), 0
	var id, name, data string
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch field {
		case "id":
			id = value
		case "event":
			name = value
		case "data":
			data = value
		case "":
			if line != "\n" { // a comment
				continue
			}
			if err := w.take(id, name, data); err != nil {
				return err
			}
			if name != "" {
				heard++
			}
			name, data = "", ""
			if w.cut > 0 && heard >= w.cut {
				return nil
			}
		}
	}
}

func (w *watcher) take(id, name, data string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if id != "" {
		if w.last == "" {
			close(w.placed)
		}
		w.last = id
	}
	if name == "" {
		return nil
	}
	var told map[string]string
	if err := json.Unmarshal([]byte(data), &told); err != nil || len(told) != 1 || told["entry_id"] == "" {
		return errors.New("an event holds more or less than an id: " + data)
	}
	if name == "entry" {
		w.entries = append(w.entries, told["entry_id"])
	} else {
		w.others = append(w.others, name+" "+told["entry_id"])
	}
	close(w.change)
	w.change = make(chan struct{})
	return nil
}

// await waits until done says so of what was heard.
func (w *watcher) await(done func(entries, others []string) bool) (entries, others []string) {
	w.t.Helper()
	for {
		w.mu.Lock()
		entries, others := slices.Clone(w.entries), slices.Clone(w.others)
		change := w.change
		w.mu.Unlock()
		if done(entries, others) {
			return entries, others
		}
		select {
		case <-change:
		case <-w.ended:
			w.t.Fatalf("the watcher ended with %d entries and %q", len(entries), others)
		}
	}
}

// hasAll waits for every one of ids and fails on anything else or twice.
func (w *watcher) hasAll(ids []string) {
	w.t.Helper()
	got, _ := w.await(func(entries, _ []string) bool { return len(entries) >= len(ids) })
	slices.Sort(got)
	want := slices.Sorted(slices.Values(ids))
	if !slices.Equal(got, want) {
		w.t.Errorf("heard of %d entries, want each of %d once", len(got), len(want))
	}
}

// publishes writes an entry and returns its id.
func (a *agent) publishes(title, visibility string) string {
	a.t.Helper()
	sent := a.overREST(a.signs(entry{State: "awake", Title: title, Body: "About " + title + ".", Tags: []string{"live"}, Visibility: visibility}))
	if sent.Status != http.StatusCreated {
		a.t.Fatalf("publish: %d %s", sent.Status, sent.Body)
	}
	return receiptOf(a.t, sent).EntryID
}

// deletes withdraws an entry as its author.
func (a *agent) deletes(id string) {
	a.t.Helper()
	payload := a.canonical(map[string]string{"entry_id": id, "reason_code": "owner_request"})
	s := a.seals(json.RawMessage(payload), func(e map[string]string) { e["action"] = "journal.entry.delete" })
	done := post(a.t, a.url+"/v1/private/entries/delete", map[string]any{"payload": json.RawMessage(payload), "envelope": s.Envelope, "signature": s.Signature})
	if done.Status != http.StatusOK {
		a.t.Fatalf("delete: %d %s", done.Status, done.Body)
	}
}

func operate(t *testing.T, o program.Options, args ...string) {
	t.Helper()
	if _, err := program.Run(t.Context(), o, append([]string{"operate"}, args...)...); err != nil {
		t.Fatal(err)
	}
}

// A reader's connection breaks after every third event, the service is
// stopped, killed and started again, entries are withdrawn while nobody reads.
// Expectation: every public entry is told once, no private one, and none that
// was withdrawn before it could be told.
func TestLiveReaderMissesNothingAcrossRestarts(t *testing.T) {
	t.Parallel()
	for name, options := range engines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t)
			server, err := program.Start(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			ada := register(t, server.URL, "Ada on air")
			ada.publishes("before anybody reads", "public")
			w := watch(t, 3, server.URL)
			<-w.placed
			var ids []string
			round := func(title string) {
				for n := range 7 {
					ids = append(ids, ada.publishes(fmt.Sprint(title, " ", n), "public"))
					ada.publishes(fmt.Sprint("mine ", title, " ", n), "private")
				}
			}
			round("first")
			w.hasAll(ids)

			if err := server.Stop(); err != nil { // with a reader connected
				t.Fatal(err)
			}
			// While the reader cannot come, one entry is deleted and one hidden.
			if server, err = program.Start(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			ada.url = server.URL
			deleted, hidden := ada.publishes("soon deleted", "public"), ada.publishes("soon hidden", "public")
			ada.deletes(deleted)
			operate(t, o, "hide", hidden, "--reason", "other")
			round("second")
			w.moveTo(server.URL)
			w.hasAll(ids)

			if err := server.Kill(); err != nil {
				t.Fatal(err)
			}
			server = serve(t, o)
			ada.url = server.URL
			round("third")
			w.moveTo(server.URL)
			w.hasAll(ids)

			// Who is connected hears of a withdrawal from another process.
			operate(t, o, "hide", ids[0], "--reason", "other")
			_, others := w.await(func(_, others []string) bool { return len(others) > 0 })
			if others[0] != "withdrawn "+ids[0] {
				t.Errorf("heard %q", others)
			}
			w.leave()
			w.hasAll(ids)
			everything := fmt.Sprint(w.entries, w.others)
			if strings.Contains(everything, deleted) || strings.Contains(everything, hidden) {
				t.Error("an entry that was withdrawn before the reader came back was told")
			}
		})
	}
}

// Two processes serve one PostgreSQL and both publish at once, while readers
// change from one to the other after every few events; then one is killed and
// another takes its place.
func TestLiveReadersMissNothingAcrossTwoProcesses(t *testing.T) {
	t.Parallel()
	o := program.Options{Binary: binary, DataDir: t.TempDir(), DatabaseURL: pgtest.Database(t)}
	falls, err := program.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = falls.Kill() }) // fails when it has fallen as it should
	urls := []string{serve(t, o).URL, falls.URL}
	const writers, each = 4, 20
	readers := []*watcher{watch(t, 1, urls...), watch(t, 5, urls...), watch(t, 0, urls[0]), watch(t, 0, urls[1])}
	for _, w := range readers {
		<-w.placed
	}
	var mu sync.Mutex
	var ids []string
	var writing sync.WaitGroup
	for n := range writers {
		a := register(t, urls[n%2], fmt.Sprint("Writer ", n))
		var requests []*http.Request
		for k := range each {
			visibility := "public"
			if k%5 == 4 {
				visibility = "private"
			}
			requests = append(requests, a.requestREST(a.signs(entry{State: "busy", Title: fmt.Sprintf("Note %d of %d", k, n), Body: "Said at once.", Tags: []string{}, Visibility: visibility})))
		}
		writing.Go(func() {
			for _, r := range requests {
				sent, err := do(r)
				var made receipt
				if err == nil {
					err = json.Unmarshal(sent.Body, &made)
				}
				if err != nil || sent.Status != http.StatusCreated {
					t.Errorf("publish: %d %v", sent.Status, err)
					return
				}
				if made.Visibility == "public" {
					mu.Lock()
					ids = append(ids, made.EntryID)
					mu.Unlock()
				}
			}
		})
	}
	writing.Wait()
	for _, w := range readers {
		w.hasAll(ids)
	}
	order, _ := readers[0].await(func([]string, []string) bool { return true })
	for _, w := range readers[1:] {
		if got, _ := w.await(func([]string, []string) bool { return true }); !slices.Equal(got, order) {
			t.Error("two readers heard of the same entries in another order")
		}
	}
	// A withdrawal through the one is heard at the other.
	operate(t, o, "hide", ids[0], "--reason", "other")
	for _, w := range readers {
		if _, others := w.await(func(_, others []string) bool { return len(others) > 0 || w.cut > 0 }); w.cut == 0 && others[0] != "withdrawn "+ids[0] {
			t.Errorf("heard %q", others)
		}
	}

	// One process falls while the other goes on. Its reader comes back to the
	// process that takes its place, and is told what it missed and can be read.
	for _, w := range readers {
		w.leave()
	}
	away := watch(t, 0, urls[1])
	<-away.placed
	if err := falls.Kill(); err != nil {
		t.Fatal(err)
	}
	stays := register(t, urls[0], "Who stays")
	deleted, hidden := stays.publishes("soon deleted", "public"), stays.publishes("soon hidden", "public")
	stays.publishes("never public", "private")
	missed := []string{stays.publishes("missed", "public"), stays.publishes("missed too", "public")}
	stays.deletes(deleted)
	operate(t, o, "hide", hidden, "--reason", "other")
	away.moveTo(serve(t, o).URL)
	away.hasAll(missed)
	missed = append(missed, stays.publishes("heard at once", "public"))
	away.hasAll(missed)
	if _, others := away.await(func([]string, []string) bool { return true }); len(others) > 0 {
		t.Errorf("a reader who was away heard %q", others)
	}
}
