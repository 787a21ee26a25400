// Innerloop is the front door: it reads the settings, opens the store, joins
// the rooms, serves and drains. Its other commands migrate, seed and verify a
// store, and act as a local agent over REST.
//
// It decides nothing about entries; rules live in journal. It promises that
// secrets never reach its output, that the first line of its log names the
// address it listens on, and these exit codes: 0 done, 1 failed, 2 the command
// line or the settings are wrong.
package main
