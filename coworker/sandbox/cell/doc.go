// Package cell is what runs inside the sandbox before the user's program does:
// the first process of its namespaces, and its copy that puts on the limits.
//
// The server starts itself again for the first. A package init decides by the
// name the process was started under, and never returns then, so that nothing
// else of the program begins to work: no database, no server, no secret. The module
// is apart from the program's for the sake of that order alone. Packages are
// initialised by import path as soon as what they import is ready, and "cell"
// comes before every dependency of the program; a start costs 2 ms instead of
// 22. For the same reason it imports nothing but the standard library.
//
// A cell has no opinion: it does what its Config says, step by step, and
// reports the first step that failed.
package cell
