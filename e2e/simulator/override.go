package simulator

import "regexp"

var (
	hostOf = regexp.MustCompile(`((?:^|[\s{])(?:base_url|url): )https://`)
	slowOf = regexp.MustCompile(`requests: 1, per: 60s, burst: 1\b`)
	waitOf = regexp.MustCompile(`\bafter: [0-9]+s`)
)

// Overridden is a file of the catalog with each host of a module or of a token
// exchange moved into the path: https://HOST/PATH becomes
// https://simulator.example/HOST/PATH; an address that is a person's own, as
// {base_url}, has no host to move. A pace of one call a minute becomes one of
// sixty, and the wait before a repeat a second, so that pages and repeats take
// no minutes. Nothing else is changed.
func Overridden(file []byte) []byte {
	file = hostOf.ReplaceAll(file, []byte("${1}https://simulator.example/"))
	file = slowOf.ReplaceAll(file, []byte("requests: 60, per: 60s, burst: 60"))
	return waitOf.ReplaceAll(file, []byte("after: 1s"))
}
