package models_test

import (
	"context"
	"testing"
	"time"

	"innerloop/journal"
	"innerloop/models"
)

// rung starts listening and returns where each ring arrives.
func rung(t *testing.T, s *models.Store) <-chan struct{} {
	t.Helper()
	rings := make(chan struct{}, 1)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Listen(ctx, func() {
			select {
			case rings <- struct{}{}:
			default:
			}
		})
	}()
	t.Cleanup(func() { stop(); <-done })
	return rings
}

func awaitRing(t *testing.T, rings <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-rings:
	case <-time.After(time.Minute):
		t.Fatalf("no ring: %s", what)
	}
}

func TestOwnCommitsRing(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		ada := w.agent()
		rings := rung(t, w.Store)
		// Listening may begin after a commit, so there is one after each.
		for heard := false; !heard; {
			w.publish(ada.writes(journal.Public, "one"))
			select {
			case <-rings:
				heard = true
			default:
			}
		}
	})
}

// Another process's publication rings at once, and again after the connection
// for signals was cut.
func TestSignalsOfOtherProcessesRing(t *testing.T) {
	t.Parallel()
	w := openWorld(t, engines(t)["postgres"](t))
	paused := make(chan struct{}, 16)
	listener, err := models.Open(t.Context(), models.Options{URL: w.url, Wait: func(ctx context.Context, _ time.Duration) error {
		paused <- struct{}{}
		return ctx.Err()
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	ada := w.agent()
	rings := rung(t, listener)
	awaitRing(t, rings, "when the connection stands")
	w.publish(ada.writes(journal.Private, "beside"))
	id := ada.writes(journal.Public, "one")
	w.publish(id)
	awaitRing(t, rings, "a publication elsewhere")
	events, err := listener.PublicEvents(t.Context(), 0, 10)
	if err != nil || len(events) != 1 || events[0].EntryID != id.EntryID || events[0].Published != events[0].Position {
		t.Errorf("read %v (%v)", events, err)
	}
	if v, err := listener.PublicVersion(t.Context()); err != nil || v != events[0].Position {
		t.Errorf("the ring left an old version in memory: %d (%v)", v, err)
	}
	w.must(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%%'`)
	select {
	case <-paused:
	case <-time.After(time.Minute):
		t.Fatal("the connection was cut and nothing noticed")
	}
	awaitRing(t, rings, "when it stands again")
	w.publish(ada.writes(journal.Public, "two"))
	awaitRing(t, rings, "a publication after the cut")
}
