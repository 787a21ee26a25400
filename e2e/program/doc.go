// Package program builds and runs the innerloop binary for stories and
// benchmarks, the way a user would: a process of its own, a data folder of its
// own, an address that the kernel chose.
//
// Start returns once the program has said where it listens. Stop sends SIGTERM
// and waits; what the program printed is kept and shown when it misbehaves. It
// knows the program's command line and log line and no other room.
package program
