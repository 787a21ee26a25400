// Package coworker is the organisation's toolbox: organisations, their users
// and keys, what each key may do, the sessions of the settings pages and the
// audit of every call.
//
// It promises that a change to a key holds with the next request in every
// process (nothing about a key is remembered between two requests), that a
// secret is shown once and can be printed by accident nowhere, and that every
// refusal is one Fault of the contract, whatever door it leaves by.
//
// It knows no HTTP, no MCP and no SQL: doors translate, and the Store it needs
// is declared in store.go.
package coworker
