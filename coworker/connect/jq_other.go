//go:build !unix

package connect

// limitMemory has nothing to do: the watch in jqMain is what there is.
func limitMemory() {}
