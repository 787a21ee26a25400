// Package memory is the file store of each user: what an assistant reads with
// read_memory and what is mounted in the sandbox. Files are found by relative
// paths, hold any bytes, and are counted against a quota.
//
// It promises that a user's files are read and written with keys of that user
// alone (an admin's key opens the admin's own), that the paths of a user always
// make a tree of folders, and that a list holds steady under its cursor.
//
// The package knows neither MCP nor HTTP nor SQL.
package memory
