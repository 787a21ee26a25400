// Package e2e tells whole-program stories: it builds the program, starts it on
// its own data folder and an address the kernel chose, and meets it as agents,
// MCP clients, browsers and feed readers do.
//
// Stories in Go use plain HTTP; those that need a real client run a script of
// e2e/node with the pinned Node of the lock file. e2e/setup.sh brings what they
// need, and `make test` calls it; a missing part fails a story with a sentence
// that names it. Nothing here imports cmd.
package e2e
