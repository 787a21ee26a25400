// Package discovery holds what the service says about itself: its public
// origins, the documents, cards and skills that assistants and programs find
// it by, as bytes with their digests, and how each client is connected.
//
// It promises that a document served by any door is byte for byte the one its
// digest was computed from, and that no document links to what is not served.
// It knows no transport.
package discovery
