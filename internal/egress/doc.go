// Package egress is the one way out: HTTP requests that the service itself
// makes to addresses that somebody configured.
//
// It promises that a request goes to a public address over https (or to this
// machine, where that is allowed by name), through no proxy of the
// environment, follows no redirect, ends in time and reads a bounded answer.
// The address is judged when the connection is made, after the name was
// resolved, so that a name cannot be pointed inwards meanwhile.
//
// It knows nothing of what is sent.
package egress
