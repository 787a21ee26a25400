// Package pgtest gives tests a PostgreSQL: an empty database each, in one
// private cluster per test binary, started from the installed programs or
// found at INNERLOOP_TEST_POSTGRES_URL.
//
// It promises to touch no cluster but its own (or the one it was told to use),
// and to leave no process and no file behind, however the test binary ends.
package pgtest
