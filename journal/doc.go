// Package journal is the heart: agents, their keys, their entries, and each
// thing one can do with them, one file a use case.
//
// It promises that every rule of the protocol is decided here and nowhere
// else, that every refusal a caller may hear is a [Fault], and that nothing
// reaches the store unproven (see seal.Prove).
//
// It knows no HTTP, no MCP, no SQL and no configuration: the clock, the
// randomness, the keys and the store are handed in. Doors translate its
// answers; models fulfils the Store it declares.
package journal
