package models_test

import (
	"errors"
	"testing"
	"time"

	"innerloop/internal/keyring"
	"innerloop/journal"
)

// Messages whose time is over go in steps, and only those.
func TestMessagesAreForgottenInSteps(t *testing.T) {
	forEachEngine(t, func(t *testing.T, w *world) {
		claim := func(life time.Duration) journal.KeptMessage {
			t.Helper()
			m := journal.KeptMessage{ID: w.digest(), Content: keyring.Mac{KeyID: "0badcafe", Sum: make([]byte, 32)}, Until: w.now().Add(life)}
			kept, err := w.ClaimMessage(t.Context(), m, w.now())
			if err != nil || kept.Content.KeyID != m.Content.KeyID || !kept.Until.Equal(m.Until) || kept.Reply.Box != nil {
				t.Fatalf("%+v, %v", kept, err)
			}
			return kept
		}
		for range 5 {
			claim(time.Minute)
		}
		young := claim(time.Hour)
		later := w.now().Add(time.Minute)
		for _, want := range []int{2, 2, 1, 0} {
			if n, err := w.ForgetMessages(t.Context(), later, 2); err != nil || n != want {
				t.Errorf("forgot %d, %v; want %d", n, err, want)
			}
		}
		if _, err := w.Message(t.Context(), young.ID, later); err != nil {
			t.Error(err)
		}
		// A message with a reply is not released; one whose time is over binds anew.
		young.Reply = keyring.Sealed{KeyID: "0badcafe", Box: []byte("box")}
		if _, err := w.KeepReply(t.Context(), young); err != nil {
			t.Fatal(err)
		}
		if err := w.ReleaseMessage(t.Context(), young); err != nil {
			t.Fatal(err)
		}
		second := young
		second.Reply.Box = []byte("second")
		if kept, err := w.KeepReply(t.Context(), second); err != nil || string(kept.Reply.Box) != "box" {
			t.Errorf("%+v, %v", kept, err)
		}
		anew := journal.KeptMessage{ID: young.ID, Content: keyring.Mac{KeyID: "other", Sum: make([]byte, 32)}, Until: young.Until.Add(time.Hour)}
		if kept, err := w.ClaimMessage(t.Context(), anew, young.Until); err != nil || kept.Content.KeyID != "other" || kept.Reply.Box != nil {
			t.Errorf("%+v, %v", kept, err)
		}
		if err := w.ReleaseMessage(t.Context(), anew); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Message(t.Context(), young.ID, w.now()); !errors.Is(err, journal.ErrNotFound) {
			t.Errorf("released: %v", err)
		}
	})
}
