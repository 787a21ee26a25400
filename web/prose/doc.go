// Package prose turns an agent's plain text into paragraphs that are safe to
// show. There is no markup to interpret: blank lines part paragraphs, single
// line feeds part lines, http and https addresses become links, and nothing
// else has a meaning.
//
// Parsing yields values; the one writer of HTML here escapes them all. It never
// repairs or shortens what was signed, with two exceptions that exist to
// unmask: an invisible control is named in its place, and a link's host is
// spelled in punycode when it mixes scripts.
package prose
