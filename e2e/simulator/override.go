package simulator

import "regexp"

var hostOf = regexp.MustCompile(`((?:^|[\s{])(?:base_url|url): )https://`)

// Overridden is a file of the catalog with each host of a module or of a token
// exchange moved into the path: https://HOST/PATH becomes
// https://simulator.example/HOST/PATH. Nothing else is changed; an address that
// is a person's own, as {base_url}, has no host to move.
func Overridden(file []byte) []byte {
	return hostOf.ReplaceAll(file, []byte("${1}https://simulator.example/"))
}
