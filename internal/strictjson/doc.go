// Package strictjson reads JSON the way a signed protocol must (protocol 4.4):
// valid UTF-8 only, no lone surrogate in an escape, no key twice at any depth,
// nothing after the value, a bounded depth and number of values, and keys
// compared exactly.
//
// It promises that a string comes out precisely as it was spelled, and that an
// error names the place and the rule and never quotes a value.
//
// It knows nothing of what the JSON means. encoding/json cannot do this job:
// it turns a lone surrogate into U+FFFD, lets the last of two equal keys win
// and matches keys without regard to case.
package strictjson
