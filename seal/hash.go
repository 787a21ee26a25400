package seal

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
)

var hashPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// PayloadHash is "sha256:" and the lower-case hex SHA-256 of the canonical
// payload (protocol 4.2).
func PayloadHash(canonical []byte) string {
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// ValidHash tells whether text has the form of a payload hash.
func ValidHash(text string) bool { return hashPattern.MatchString(text) }
