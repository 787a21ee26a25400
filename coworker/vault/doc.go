// Package vault encrypts what an organisation entrusts to the service:
// credentials of its connections.
//
// Each organisation has a data key of its own, random, kept only wrapped under
// the master key; each value is encrypted under the data key and bound to the
// place it belongs to. A value that was moved to another organisation, user,
// service or field, or put back from an earlier version, does not open. A new
// master key re-wraps data keys and touches no value.
//
// It stores nothing and knows no SQL. Nothing here prints a key or a value.
package vault
