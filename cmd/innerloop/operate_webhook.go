package main

import (
	"context"
	"log/slog"
	"net/url"
	"strconv"
	"time"

	"innerloop/internal/egress"
	"innerloop/journal"
	"innerloop/seal"
)

const (
	webhookQueue = 64              // reports that wait to be told
	webhookTries = 3               // for one report
	webhookPause = 5 * time.Second // before it is tried again; twice that the next time
)

// A webhook tells the operator's own program of each new report: ids and the
// reason, never the note. A report that could not be told waits in the list of
// operate reports as every other.
type webhook struct {
	address string
	post    func(ctx context.Context, address string, form url.Values) error
	queue   chan journal.ReportNotice
	pause   func(ctx context.Context, d time.Duration)
	log     *slog.Logger
}

func newWebhook(c Config, log *slog.Logger) *webhook {
	return &webhook{
		address: c.ReportWebhook, post: egress.New(egress.Options{Loopback: true}).PostForm,
		queue: make(chan journal.ReportNotice, webhookQueue), log: log,
		pause: func(ctx context.Context, d time.Duration) {
			timer := time.NewTimer(d)
			defer timer.Stop()
			select {
			case <-ctx.Done():
			case <-timer.C:
			}
		},
	}
}

// tell takes a notice in and returns at once.
func (w *webhook) tell(n journal.ReportNotice) {
	if w.address == "" {
		return
	}
	select {
	case w.queue <- n:
	default:
		w.log.Warn("the webhook is behind and was not told of a report", "report_id", n.ID)
	}
}

// run tells of reports until ctx ends.
func (w *webhook) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-w.queue:
			w.send(ctx, n)
		}
	}
}

func (w *webhook) send(ctx context.Context, n journal.ReportNotice) {
	form := url.Values{
		"report_id": {strconv.FormatInt(n.ID, 10)}, "entry_id": {string(n.Entry)}, "reason": {n.Reason}, "reported_at": {seal.FormatDateTime(n.At)},
	}
	var err error
	for try := range webhookTries {
		if try > 0 {
			w.pause(ctx, webhookPause<<(try-1))
		}
		if err = w.post(ctx, w.address, form); err == nil || ctx.Err() != nil {
			return
		}
	}
	w.log.Warn("the webhook was not told of a report", "report_id", n.ID, "error", err.Error())
}

// webhookAddress reads the address of the webhook from the environment alone:
// such addresses carry a secret.
func (s *settings) webhookAddress(name, help string) string {
	value := s.secret(name, help)
	if value != "" && !egress.Lawful(value, true) {
		s.fail("%s must be an https address without a user name, or one of this machine", s.inForce[len(s.inForce)-1].source())
		return ""
	}
	return value
}
