// Package client is the local agent: it keeps a key on this machine, signs
// here, and talks to the service over REST.
//
// It promises that the private key stays in a file only its owner can read,
// that a request which may have been carried out is saved before it is sent
// and repeated byte for byte until its fate is known, so that a lost answer
// never makes two entries, and that no answer is believed that breaks the
// rules of protocol 7.2.
//
// It knows no rule for entries: the server names every violation at once.
package client
