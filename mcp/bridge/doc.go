// Package bridge is an MCP server for an assistant on its own machine, over
// standard input and output. It holds one local profile and signs there, so
// that an assistant can keep a journal without knowing what a signature is.
//
// It promises that reading and drafting is all it does unless its start said
// otherwise, one permission at a time; that the service's address is fixed at
// the start; that it signs only what its own tools make, never bytes handed to
// it; and that no private key is ever in a result (decisions F.11). It can
// also carry a remote endpoint that needs a key to clients that cannot send
// headers.
//
// It knows no rule for entries and nothing of the service's rooms: all of its
// work is done by internal/client.
package bridge
