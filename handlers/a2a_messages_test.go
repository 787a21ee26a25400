package handlers_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"innerloop/internal/limit"
	"innerloop/journal"
	"innerloop/journal/journaltest"
)

// Protocol 9.6 through the door.
func TestA2AMessageIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	d := open(t)
	_, key := journaltest.Key(t, "once")
	start := map[string]any{"operation": "innerloop.registration.start", "displayName": "Ada", "publicKey": key.String()}
	first := d.send(message(t, "m-1", start))
	if !d.dataOf(first).OK {
		t.Fatal(first.Body)
	}
	d.Clock.Advance(6 * 24 * time.Hour)
	if again := d.send(message(t, "m-1", start)); again.Status != 200 || again.Body != first.Body {
		t.Errorf("the reply changed:\n%s\n%s", first.Body, again.Body)
	}
	spaced := strings.ReplaceAll(message(t, "m-1", start), `,`, " ,\n")
	if again := d.send(spaced); again.Body != first.Body {
		t.Errorf("the same message in another spelling: %s", again.Body)
	}
	other := map[string]any{"operation": "innerloop.registration.start", "displayName": "Eve", "publicKey": key.String()}
	changed := map[string]string{
		"other content":    message(t, "m-1", other),
		"other metadata":   message(t, "m-1", start, func(b, _ map[string]any) { b["metadata"] = map[string]any{"x": 1} }),
		"another change":   message(t, "m-1", publishData(t, d.Agent("Eve").Signs("x"))),
		"a different part": message(t, "m-1", start, func(_, m map[string]any) { m["contextId"] = "c" }),
	}
	for name, body := range changed {
		t.Run(name, func(t *testing.T) {
			wantA2AError(t, d.send(body), 409, "ABORTED", "MESSAGE_ID_CONFLICT", ourDomain)
		})
	}
	if d.stored() != 0 {
		t.Error("a message in conflict was carried out")
	}
	// Reading binds nothing, and is bound by nothing.
	for range 2 {
		if got := d.operate("m-1", discoveryGet); !got.OK {
			t.Errorf("%v", got)
		}
	}
	if got := d.operate("m-2", discoveryGet); !got.OK {
		t.Errorf("%v", got)
	}
	if got := d.operate("m-2", start); !got.OK {
		t.Errorf("the id of a reading was taken: %v", got)
	}
	// A refusal binds nothing: the corrected message may keep its id.
	d.refusedWith(d.operate("m-3", map[string]any{"operation": "innerloop.registration.start", "displayName": " ", "publicKey": key.String()}), journal.ValidationFailed)
	if got := d.operate("m-3", start); !got.OK {
		t.Errorf("%v", got)
	}
	d.Clock.Advance(25 * time.Hour)
	if again := d.dataOf(d.send(message(t, "m-1", other))); !again.OK {
		t.Errorf("after seven days: %v", again)
	}
}

// What a quota refuses inside the transaction gives the message's id back.
func TestA2AQuotaFreesTheMessage(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	d.limit(map[limit.Rule]int{limit.EntriesPerAgent: 1})
	if got := d.operate("1", publishData(t, ada.Signs("one"))); !got.OK {
		t.Fatal(got)
	}
	got := d.operate("2", publishData(t, ada.Signs("two")))
	d.refusedWith(got, journal.DailyAgentSpent)
	if got.Error["retry_after_seconds"] != 50340.0 || got.Error["retryable"] != false {
		t.Errorf("%v", got.Error)
	}
	d.refusedWith(d.operate("2", publishData(t, ada.Signs("three"))), journal.DailyAgentSpent)
	d.limit(nil)
	if got := d.operate("2", publishData(t, ada.Signs("four"))); !got.OK {
		t.Error(got)
	}
}

// Twins of one message are answered alike, and act once.
func TestA2ATwinMessages(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	for round := range 20 {
		s := ada.Signs("twin")
		body := message(t, s.IdempotencyKey, publishData(t, s))
		if round%2 == 1 {
			_, key := journaltest.Key(t, s.IdempotencyKey)
			body = message(t, s.IdempotencyKey, map[string]any{"operation": "innerloop.registration.start", "displayName": "Twin", "publicKey": key.String()})
		}
		replies := make([]reply, 6)
		var wait sync.WaitGroup
		for i := range replies {
			wait.Go(func() { replies[i] = d.send(body) })
		}
		wait.Wait()
		for _, r := range replies {
			if got := d.dataOf(r); !got.OK || r.Body != replies[0].Body || got.Result["idempotent_replay"] == true {
				t.Fatalf("round %d: %s\n%s", round, replies[0].Body, r.Body)
			}
		}
	}
	if d.stored() != 10 {
		t.Errorf("%d entries of 10 messages", d.stored())
	}
}
