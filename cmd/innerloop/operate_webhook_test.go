package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"innerloop/journal"
)

func someNotice() journal.ReportNotice {
	return journal.ReportNotice{ID: 7, Entry: "entry_1", Reason: "spam", At: time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)}
}

func TestWebhookIsToldOfAReport(t *testing.T) {
	t.Parallel()
	got := make(chan url.Values, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		got <- r.PostForm
	}))
	defer receiver.Close()
	w := newWebhook(Config{ReportWebhook: receiver.URL + "/hook?token=x"}, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go w.run(ctx)
	w.tell(someNotice())
	want := url.Values{"report_id": {"7"}, "entry_id": {"entry_1"}, "reason": {"spam"}, "reported_at": {"2026-09-01T10:00:00.000Z"}}
	if form := <-got; form.Encode() != want.Encode() {
		t.Errorf("told %v, want %v", form, want)
	}
}

// A receiver that fails is tried three times and then left; one that hangs
// holds up nobody who reports.
func TestWebhookGivesUpAndHoldsUpNobody(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w := newWebhook(Config{ReportWebhook: "https://hook.example/secret-token"}, slog.New(slog.NewTextHandler(&log, nil)))
	tries, pauses := 0, []time.Duration{}
	w.post = func(context.Context, string, url.Values) error { tries++; return errors.New("no way") }
	w.pause = func(_ context.Context, d time.Duration) { pauses = append(pauses, d) }
	w.send(t.Context(), someNotice())
	if tries != webhookTries || !slices.Equal(pauses, []time.Duration{webhookPause, 2 * webhookPause}) {
		t.Errorf("%d tries with pauses %v", tries, pauses)
	}
	for range webhookQueue + 2 { // nobody reads the queue
		w.tell(someNotice())
	}
	if text := log.String(); strings.Count(text, "is behind") != 2 || strings.Count(text, "was not told of a report\" report_id=7 error=") != 1 || strings.Contains(text, "secret-token") {
		t.Errorf("the log:\n%s", text)
	}
	silent := newWebhook(Config{}, slog.New(slog.DiscardHandler))
	silent.tell(someNotice())
	if len(silent.queue) != 0 {
		t.Error("without an address something waits")
	}
}

func TestWebhookAddressIsASecretOfTheRightForm(t *testing.T) {
	t.Parallel()
	for address, good := range map[string]bool{
		"https://hook.example/token": true, "http://127.0.0.1:9/x": true, "http://hook.example/token": false,
		"https://user:pass@hook.example/": false, "https://10.0.0.1/": false, "nonsense": false,
	} {
		s := surroundings{environ: []string{"INNERLOOP_REPORT_WEBHOOK=" + address}}
		got := attempt(t, s, "config")
		if (got.code == 0) != good || strings.Contains(got.out+got.err, address) {
			t.Errorf("%s: exit %d\n%s%s", address, got.code, got.out, got.err)
		}
	}
}
