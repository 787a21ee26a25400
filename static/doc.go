// Package static carries the files a browser fetches beside a page: one
// stylesheet, one small script, the icon. They are embedded in the program
// and served under names that hold a hash of their content, so that a name
// never changes meaning and may be cached for ever.
//
// The package imports nothing of ours and knows no HTTP framework: a door
// asks File for the bytes and the media type and writes them itself.
package static
