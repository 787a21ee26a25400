// Package seal is the pure protocol: canonical JSON, payload hashes, strict
// base64, Ed25519 public keys in their SPKI form, signed envelopes, and the
// one function, [Prove], that turns a claim into a [Proven].
//
// It promises that a Proven can come from Prove alone, and that the bytes a
// Proven carries are exactly the bytes that were signed. The zero Proven is
// not valid and every store refuses it.
//
// It knows no clock, no database, no transport and no rule about what an
// entry may say; it imports the standard library only.
package seal
