package coworker

import (
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"io"
	"math/big"
	"strings"
)

// The form of a key: a fixed word that scanners know, a public part, 32 random
// bytes in base62, and a checksum that catches a typo without the database.
const (
	secretWord   = "sk-org-"
	publicChars  = 8
	randomBytes  = 32
	randomChars  = 43 // 62^43 > 2^256
	checkChars   = 6  // 62^6 > 2^32
	prefixLength = len(secretWord) + publicChars
	secretLength = prefixLength + 1 + randomChars + checkChars
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// SecretPattern is the form of a key as a regular expression.
const SecretPattern = `sk-org-[0-9A-Za-z]{8}_[0-9A-Za-z]{49}`

// A Secret is a whole key. Printing it in any way shows its public prefix at
// most: the text is behind a function, which fmt cannot call.
type Secret struct{ text func() string }

// NewSecret makes a key.
func NewSecret(random io.Reader) (Secret, error) {
	var raw [randomBytes]byte
	if _, err := io.ReadFull(random, raw[:]); err != nil {
		return Secret{}, fmt.Errorf("read randomness: %w", err)
	}
	public := make([]byte, 0, publicChars)
	for len(public) < publicChars {
		var b [1]byte
		if _, err := io.ReadFull(random, b[:]); err != nil {
			return Secret{}, fmt.Errorf("read randomness: %w", err)
		}
		if b[0] < 4*62 { // every character equally likely
			public = append(public, base62[b[0]%62])
		}
	}
	text := secretWord + string(public) + "_" + inBase62(new(big.Int).SetBytes(raw[:]), randomChars)
	return secretOf(text + checksum(text)), nil
}

func secretOf(text string) Secret { return Secret{func() string { return text }} }

func inBase62(n *big.Int, width int) string {
	digits := make([]byte, width)
	base, rest := big.NewInt(62), new(big.Int)
	for i := width - 1; i >= 0; i-- {
		n.QuoRem(n, base, rest)
		digits[i] = base62[rest.Int64()]
	}
	return string(digits)
}

func checksum(text string) string {
	return inBase62(big.NewInt(int64(crc32.ChecksumIEEE([]byte(text)))), checkChars)
}

// ParseSecret reads a key; ok is false for whatever no key of ours can be.
func ParseSecret(text string) (s Secret, ok bool) {
	if len(text) != secretLength || text[:len(secretWord)] != secretWord || text[prefixLength] != '_' {
		return Secret{}, false
	}
	for i := len(secretWord); i < secretLength; i++ {
		if i != prefixLength && strings.IndexByte(base62, text[i]) < 0 {
			return Secret{}, false
		}
	}
	if checksum(text[:secretLength-checkChars]) != text[secretLength-checkChars:] {
		return Secret{}, false
	}
	return secretOf(text), true
}

// Reveal returns the whole key, to be shown once.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return s.text()
}

// Prefix is the public part, by which a key is found: "sk-org-" and 8
// characters.
func (s Secret) Prefix() string {
	if s.text == nil {
		return ""
	}
	return s.text()[:prefixLength]
}

// Sum is what is stored. The secret half has 256 random bits, so a plain
// digest of it cannot be searched and needs neither salt nor stretching.
func (s Secret) Sum() [sha256.Size]byte { return sha256.Sum256([]byte(s.Reveal())) }

// String shows the public prefix alone.
func (s Secret) String() string { return s.Prefix() + "…" }
