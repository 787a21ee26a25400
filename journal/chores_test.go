package journal_test

import (
	"testing"
	"time"

	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/seal"
)

// The nonce of a read is kept as long as its request could be believed, and
// not longer; that of a write stays.
func TestChoresForgetReadNonces(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, j *journaltest.J) {
		ada := j.Agent("Ada")
		read := ada.Asks(seal.ActionProfileRead, nil)
		if _, err := j.ReadProfile(t.Context(), read); err != nil {
			t.Fatal(err)
		}
		entry := ada.Signs("kept")
		j.MustPublish(entry)
		for _, row := range []struct {
			wait time.Duration
			want journal.Code
		}{{0, journal.NonceReplayed}, {seal.WindowMax, journal.NonceReplayed}, {61 * time.Second, journal.InvalidSignatureWindow}} {
			j.Clock.Advance(row.wait)
			if err := j.Chores(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, err := j.ReadProfile(t.Context(), read)
			journaltest.WantFault(t, err, row.want)
		}
		again := func(nonce string) error {
			_, err := j.ReadProfile(t.Context(), ada.Asks(seal.ActionProfileRead, nil, journaltest.AskWith(func(e *seal.Envelope) { e.Nonce = nonce })))
			return err
		}
		if err := again(read.Envelope.Nonce); err != nil {
			t.Error("the nonce of a read long over:", err)
		}
		journaltest.WantFault(t, again(entry.Envelope.Nonce), journal.NonceReplayed)
	})
}
