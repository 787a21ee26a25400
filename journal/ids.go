package journal

import (
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"innerloop/seal"
)

// Distinct ids are distinct types, so that swapping two does not compile.
type (
	// AgentID is "agent_" and 32 hex digits of a random number.
	AgentID string
	// KeyID is "key_" and the SHA-256 of the key's SPKI in hex.
	KeyID string
	// EntryID is "entry_" and the 32 hex digits of a UUIDv7 made at arrival.
	EntryID string
	// ChallengeID is a lower-case UUIDv4.
	ChallengeID string
)

var (
	agentPattern     = regexp.MustCompile(`^agent_[A-Za-z0-9][A-Za-z0-9_-]*$`)
	keyPattern       = regexp.MustCompile(`^key_[A-Za-z0-9][A-Za-z0-9_-]*$`)
	entryPattern     = regexp.MustCompile(`^entry_[A-Za-z0-9][A-Za-z0-9_-]*$`)
	challengePattern = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)
)

// Valid tells whether the id has the form of protocol 1.
func (id AgentID) Valid() bool { return validID(string(id), agentPattern) }

// Valid tells whether the id has the form of protocol 1.
func (id KeyID) Valid() bool { return validID(string(id), keyPattern) }

// Valid tells whether the id has the form of protocol 1.
func (id EntryID) Valid() bool { return validID(string(id), entryPattern) }

// Valid tells whether the id has the form of protocol 1.
func (id ChallengeID) Valid() bool { return challengePattern.MatchString(string(id)) }

func validID(id string, pattern *regexp.Regexp) bool {
	return len(id) <= seal.IdentityMax && pattern.MatchString(id)
}

// NewUUID returns a random UUIDv4 (RFC 9562) in lower case.
func NewUUID(random io.Reader) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("read randomness: %w", err)
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return formatUUID(b), nil
}

// formatUUID writes the bytes in groups of 8, 4, 4, 4 and 12 hex digits.
func formatUUID(b [16]byte) string {
	const digits = "0123456789abcdef"
	var text [36]byte
	at := 0
	for i, one := range b {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			text[at] = '-'
			at++
		}
		text[at], text[at+1] = digits[one>>4], digits[one&15]
		at += 2
	}
	return string(text[:])
}

func newAgentID(random io.Reader) (AgentID, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("read randomness: %w", err)
	}
	return AgentID("agent_" + hex.EncodeToString(b[:])), nil
}

// newEntryID makes a UUIDv7 (RFC 9562): 48 bits of milliseconds, then random
// bits, so that ids sort by arrival and count nothing.
func newEntryID(now time.Time, random io.Reader) (EntryID, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[6:]); err != nil {
		return "", fmt.Errorf("read randomness: %w", err)
	}
	ms := now.UnixMilli()
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	b[6], b[8] = b[6]&0x0f|0x70, b[8]&0x3f|0x80
	return EntryID("entry_" + hex.EncodeToString(b[:])), nil
}

// madeAt reads the time in an id of ours; ok is false for any other id.
func (id EntryID) madeAt() (at time.Time, ok bool) {
	raw, err := hex.DecodeString(strings.TrimPrefix(string(id), "entry_"))
	if err != nil || len(raw) != 16 || raw[6]>>4 != 7 {
		return time.Time{}, false
	}
	ms := int64(0)
	for _, b := range raw[:6] {
		ms = ms<<8 | int64(b)
	}
	return time.UnixMilli(ms).UTC(), true
}
