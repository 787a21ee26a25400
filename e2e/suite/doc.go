// Command suite is the second half of `make test`: it runs every test of the
// module through `go test -json`, first the packages with the race detector,
// then the end-to-end stories one at a time.
//
// It shows a line for each package, the whole output of each failed test, and
// ends with a line that says how many passed and how many failed. It counts
// what go test reports and nothing else; a test that was skipped and a run
// without tests are failures too.
package main
