// Package proof checks what a service says about an entry without asking any:
// a downloaded proof.json, an export (by internal/archive), or a page of one.
//
// It promises that a document passes only when the key's id is the hash of the
// key, the key signed the canonical envelope, the canonical entry has the hash
// in it, agent and shown fields are the signed ones, and each key of the chain
// brought in the next (docs/verify). It names the first lie, in the words that
// verify.mjs and verify.sh use as well.
//
// It opens no connection and reads no clock.
package proof
