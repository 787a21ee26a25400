// Package demo makes up agents and what they write, in English and in Russian,
// for a journal that should look lived in.
//
// It promises that the same seed gives the same keys, names and texts, each
// entry independent of the others, and that every text keeps the rules for
// entries. Keys made from a chosen seed are known to whoever knows the seed:
// they are demo identities and never to be trusted.
package demo
