package handlers_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"innerloop/handlers"
	"innerloop/internal/limit"
	"innerloop/journal"
	"innerloop/journal/journaltest"
)

// A listener reads /events as a program would.
type listener struct {
	t       *testing.T
	answer  *http.Response
	lines   *bufio.Reader
	LastID  string
	stopped context.CancelFunc
}

func (d *door) listen(path string, headers ...string) *listener {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), time.Minute)
	d.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, d.URL+path, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := d.http.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = answer.Body.Close() })
	return &listener{d.t, answer, bufio.NewReader(answer.Body), "", cancel}
}

// block reads to the next empty line: an event's name and data, both empty for
// a sign of life or of place. ok is false at the end.
func (l *listener) block() (name, data string, ok bool) {
	id := l.LastID
	for {
		line, err := l.lines.ReadString('\n')
		if err != nil {
			return "", "", false
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch field {
		case "":
			l.LastID = id
			return name, data, true
		case "id":
			id = value
		case "event":
			name = value
		case "data":
			data = value
		}
	}
}

// event waits for the next event and returns "name entry_id".
func (l *listener) event() string {
	l.t.Helper()
	for {
		name, data, ok := l.block()
		if !ok {
			l.t.Fatal("the stream ended")
		}
		if name != "" {
			return name + " " + fmt.Sprint(decode(l.t, data)["entry_id"])
		}
	}
}

func TestEventsTellIDsOfPublicEntries(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	first := d.MustPublish(ada.Signs("first"))
	live := d.listen("/events")
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no",
		"Access-Control-Allow-Origin": "*", "X-Content-Type-Options": "nosniff", "Content-Length": "",
	} {
		if got := live.answer.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if live.answer.StatusCode != http.StatusOK || live.answer.Header.Get("X-Request-Id") == "" || !live.answer.Close {
		t.Errorf("answer: %d %v", live.answer.StatusCode, live.answer.Header)
	}
	if name, data, ok := live.block(); name != "" || data != "" || !ok || live.LastID != "1" {
		t.Errorf("begins with %q %q, at %q", name, data, live.LastID)
	}
	d.MustPublish(ada.Signs("mine", journaltest.Private))
	second := d.MustPublish(ada.Signs("second"))
	if got := live.event(); got != "entry "+string(second.EntryID) || live.LastID != "2" {
		t.Errorf("heard %q at %q", got, live.LastID)
	}
	for _, l := range []*listener{
		d.listen("/events?last_event_id=0"), d.listen("/events", "Last-Event-ID", "0"), d.listen("/events?last_event_id=1", "Last-Event-ID", "0"),
	} {
		if got := []string{l.event(), l.event()}; !slices.Equal(got, []string{"entry " + string(first.EntryID), "entry " + string(second.EntryID)}) {
			t.Errorf("replayed %q", got)
		}
	}
	if got := d.listen("/events?last_event_id=1").event(); got != "entry "+string(second.EntryID) {
		t.Errorf("resumed with %q", got)
	}
	if r := d.do(http.MethodHead, "/events", ""); r.Status != http.StatusOK || r.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("HEAD: %d %v", r.Status, r.Header)
	}
}

func TestEventsRefuseWhatTheyDoNotKnow(t *testing.T) {
	t.Parallel()
	d := open(t)
	for _, id := range []string{"x", "-1", "+1", "1.5", "99999999999999999999", "entry_1"} {
		wantError(t, d.get("/events?last_event_id="+strings.ReplaceAll(id, "+", "%2B")), http.StatusBadRequest, journal.ValidationFailed)
		wantError(t, d.get("/events", "Last-Event-ID", id), http.StatusBadRequest, journal.ValidationFailed)
	}
	wantError(t, d.get("/events?from=1"), http.StatusBadRequest, journal.ValidationFailed)
	wantError(t, d.do(http.MethodPost, "/events", ""), http.StatusMethodNotAllowed, journal.InvalidRequest)
}

func TestEventsAreCapped(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		rule   limit.Rule
		status int
		code   journal.Code
	}{
		"from one network": {limit.LiveReadersPerNetwork, http.StatusTooManyRequests, journal.RateLimited},
		"in all":           {limit.LiveReaders, http.StatusServiceUnavailable, journal.ServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			limits := limit.Defaults()
			limits.Numbers[row.rule], limits.Numbers[limit.ReadsPerMinute] = 2, 0
			d.Limit(limits)
			one, two := d.listen("/events"), d.listen("/events")
			one.block()
			two.block()
			third := d.get("/events")
			wantError(t, third, row.status, row.code)
			if wait := third.Header.Get("Retry-After"); wait != "30" {
				t.Errorf("retry-after %q", wait)
			}
			one.stopped()
			// The place is free once the server notices, at a write.
			ada := d.Agent("Ada")
			for d.statusOf("/events") != http.StatusOK {
				d.MustPublish(ada.Signs(fmt.Sprint("note ", time.Now().UnixNano())))
			}
		})
	}
}

// statusOf begins a stream and leaves it.
func (d *door) statusOf(path string, headers ...string) int {
	d.t.Helper()
	l := d.listen(path, headers...)
	l.stopped()
	return l.answer.StatusCode
}

// A reader who stops reading while much is published is cut; it holds up
// neither writers nor other readers, and comes back to what it missed.
func TestSlowReaderHoldsUpNobody(t *testing.T) {
	t.Parallel()
	d := open(t, func(o *handlers.Options) {
		o.StreamPatience = 200 * time.Millisecond
		o.TrustedProxies = limit.Proxies{netip.MustParsePrefix("127.0.0.0/8")}
	})
	limits := limit.Defaults()
	for i := range limits.Numbers {
		limits.Numbers[i] = 0
	}
	limits.Numbers[limit.LiveReadersPerNetwork] = 1
	d.Limit(limits)
	const far = "203.0.113.7" // only the slow reader's

	slow, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(d.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = slow.Close() }()
	if err := slow.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(slow, "GET /events?last_event_id=0 HTTP/1.1\r\nHost: %s\r\nX-Forwarded-For: %s\r\n\r\n", strings.TrimPrefix(d.URL, "http://"), far); err != nil {
		t.Fatal(err)
	}
	quick := d.listen("/events?last_event_id=0")
	quick.block()

	const entries = 5000
	ada := d.Agent("Ada")
	signed := make(chan journal.Submission, entries)
	for n := range entries {
		signed <- ada.Signs(fmt.Sprint("entry ", n))
	}
	close(signed)
	var publishing sync.WaitGroup
	for range 64 {
		publishing.Go(func() {
			for s := range signed {
				if _, err := d.PublishEntry(t.Context(), s); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var heard []string
	for len(heard) < entries {
		name, data, ok := quick.block()
		if !ok { // a busy machine makes anybody slow
			quick = d.listen("/events", "Last-Event-ID", quick.LastID, "X-Forwarded-For", fmt.Sprintf("198.51.%d.1", len(heard)%250))
		} else if name == "entry" {
			heard = append(heard, data)
		}
	}
	publishing.Wait()
	if once := slices.Compact(slices.Sorted(slices.Values(heard))); len(once) != entries {
		t.Errorf("the quick reader heard of %d of %d entries", len(once), entries)
	}

	// The slow one's place becomes free without its doing anything.
	for d.statusOf("/events", "X-Forwarded-For", far) != http.StatusOK {
		continue
	}
	behind := &listener{t: t, lines: bufio.NewReader(slow)}
	got := 0
	for {
		name, _, ok := behind.block()
		if !ok {
			break
		}
		if name == "entry" {
			got++
		}
	}
	last, err := strconv.Atoi(behind.LastID)
	if err != nil || got >= entries || last != got {
		t.Fatalf("the slow reader got %d events up to %q", got, behind.LastID)
	}
	again := d.listen("/events", "Last-Event-ID", behind.LastID, "X-Forwarded-For", "192.0.2.1")
	again.block() // its place
	for n := range entries - got {
		if name, data, ok := again.block(); !ok || name != "entry" || data != heard[got+n] {
			t.Fatalf("event %d after the break is %q %q", n, name, data)
		}
	}
}
