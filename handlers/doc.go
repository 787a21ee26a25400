// Package handlers is the HTTP door, on Fiber: the REST interface, A2A, the
// pages, the feeds, the discovery documents and the place where the tool
// door is mounted. It reads requests strictly, asks the journal, and turns a fault
// into a status.
//
// It promises that every answer under a machine path is coded JSON with the
// headers of protocol 7.2 or 9.5, also for unknown paths, verbs and broken requests;
// that no error tells anything of the request or of our insides; and that a
// reading kept in memory is shown only while the journal's version stands.
//
// It knows no SQL and no MCP library, and decides nothing: rules live in the
// journal.
package handlers
