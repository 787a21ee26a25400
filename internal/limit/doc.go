// Package limit holds what one caller may use up: the numbers, the network a
// caller counts under, token buckets kept in memory, and sketches that tell
// whether two texts are nearly the same.
//
// It promises that a network is found only from addresses that the operator
// trusts, that a wait it names is long enough, that its memory is bounded, and
// that a sketch says nothing of a text to whoever lacks the key. It knows no
// agent, no entry and no database: exact counts across processes are the
// store's (decisions D.1).
package limit
