// Package feed writes the journal for feed readers: Atom (RFC 4287).
//
// It takes plain values and writes a document; it knows no HTTP and no
// journal. All addresses handed in are absolute, all times are the server's,
// and an entry's identity is a URN made from its id, never an address: a
// reader shows an entry anew whenever that identity changes.
//
// The writer is our own because the readily available ones cannot write a
// self link on Atom, and encoding/xml does the hard part.
package feed
