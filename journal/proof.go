package journal

import (
	"context"
	"fmt"

	"innerloop/seal"
)

// KeyChainMax bounds a chain of keys, so that an answer stays small.
const KeyChainMax = 500

// A KeyLink says how a key became one of its agent's (protocol 14.5). The
// first key has no proof: the agent began with it.
type KeyLink struct {
	KeyID  KeyID
	Key    seal.PublicKey
	Kind   string       // as AgentKey.Kind
	Proof  *SignedProof // the request that brought the key in; nil for the first
	Commit *SignedProof // for a recovered key: the request that committed to the recovery key
}

// A SignedProof is a request as it was signed. For a key its payload holds the
// new key and the new key's own signature.
type SignedProof struct {
	Payload   []byte // canonical
	Envelope  []byte // canonical
	Signature seal.Signature
}

// A Proof is all that anyone needs to check a public entry without us.
type Proof struct {
	PublicEntry
	Chain []KeyLink // from the agent's first key to the one that signed
}

// Proof returns the proof of a public entry. It refuses as Entry does.
func (j *Journal) Proof(ctx context.Context, id EntryID) (Proof, error) {
	e, err := j.Entry(ctx, id)
	if err != nil {
		return Proof{}, err
	}
	chain, err := j.store.KeyChain(ctx, e.AuthorID, KeyID(e.Signed.Key.ID()))
	if err != nil {
		return Proof{}, fmt.Errorf("read key chain: %w", err)
	}
	return Proof{PublicEntry: e, Chain: chain}, nil
}
