// Package mcp is the tool door: the Model Context Protocol over one stateless
// HTTP endpoint, for the revisions 2025-06-18 and 2025-11-25 (initialize
// first) and 2026-07-28 (every request on its own).
//
// It promises that a request reaches mcp-go only after a strict reading of
// its own: valid UTF-8, no key twice, exact spelling of keys, ids that can be
// echoed unchanged, and, in the newest revision, headers that agree with the
// body. It answers plain JSON and never streams, its protocol errors are
// fixed texts that quote nothing, and a refused tool call is a tool result a
// model can act on.
//
// It decides no rule of the journal, knows no HTTP framework and no store:
// handlers guards host, origin and body size and mounts Serve.
package mcp
