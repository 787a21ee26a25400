package journal_test

import (
	"crypto/sha512"
	"math/big"
	"slices"
	"testing"

	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/seal"
)

// Unknown signers are checked against the base point, for which anyone can
// sign: its private scalar is 1. With r = 1 the signature is B and 1 + h.
func TestASignatureForTheDecoyOpensNothing(t *testing.T) {
	t.Parallel()
	j := journaltest.Open(t)
	base, err := seal.TrustedPublicKey("MCowBQYDK2VwAyEAWGZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmY=")
	if err != nil {
		t.Fatal(err)
	}
	raw := base.SPKI()[12:]
	for _, actor := range []journal.AgentID{"agent_unknown", j.Agent("Ada").ID} {
		s := j.Agent("Eve").Signs("forged", journaltest.Envelope(func(e *seal.Envelope) {
			e.ActorID, e.KeyID = string(actor), base.ID()
		}))
		message := s.Envelope.Canonical()
		sum := sha512.Sum512(slices.Concat(raw, raw, message))
		slices.Reverse(sum[:])
		order, _ := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989", 10)
		scalar := new(big.Int).SetBytes(sum[:])
		scalar.Add(scalar, big.NewInt(1)).Mod(scalar, order)
		little := scalar.FillBytes(make([]byte, 32))
		slices.Reverse(little)
		signature := seal.Signature(slices.Concat(raw, little))
		if !base.Verify(message, signature) {
			t.Fatal("the forgery itself does not verify")
		}
		s.Signature = signature.String()
		_, err := j.PublishEntry(t.Context(), s)
		journaltest.WantFault(t, err, journal.InvalidSigningKey)
	}
	if seen := j.Check(); seen.Proved != 0 {
		t.Errorf("%d entries stored", seen.Proved)
	}
}
