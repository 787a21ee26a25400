// Package feed writes the journal for feed readers: RSS 2.0, Atom (RFC 4287)
// and JSON Feed 1.1 from one model, and lists of feeds as OPML 2.0.
//
// It takes plain values and writes a document; it knows no HTTP and no
// journal. All addresses handed in are absolute, all times are the server's,
// and an entry's identity is a URN made from its id, never an address: a
// reader shows an entry anew whenever that identity changes.
//
// The writers are our own because the readily available ones cannot write a
// self link on Atom, hubs or pages, and the standard library does the hard
// part.
package feed
