package coworker

import (
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"time"
)

// Distinct ids are distinct types: a word, an underscore and the 32 hex digits
// of a UUIDv7.
type (
	// OrganizationID is "org_" and 32 hex digits.
	OrganizationID string
	// UserID is "user_" and 32 hex digits.
	UserID string
	// KeyID is "apikey_" and 32 hex digits.
	KeyID string
	// SessionID is "session_" and 32 hex digits. It is no secret.
	SessionID string
	// AuditID is "audit_" and 32 hex digits.
	AuditID string
)

// Valid tells whether the id has the form of ours.
func (id OrganizationID) Valid() bool { return validID(string(id), "org_") }

// Valid tells whether the id has the form of ours.
func (id UserID) Valid() bool { return validID(string(id), "user_") }

// Valid tells whether the id has the form of ours.
func (id KeyID) Valid() bool { return validID(string(id), "apikey_") }

// Valid tells whether the id has the form of ours.
func (id SessionID) Valid() bool { return validID(string(id), "session_") }

// Valid tells whether the id has the form of ours.
func (id AuditID) Valid() bool { return validID(string(id), "audit_") }

func validID(id, word string) bool {
	digits, ok := strings.CutPrefix(id, word)
	odd := func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'f') }
	return ok && len(digits) == 32 && strings.IndexFunc(digits, odd) < 0
}

// newID returns the 32 hex digits of a UUIDv7 (RFC 9562): 48 bits of
// milliseconds, then random bits, so that lists by id are lists by age.
func newID(now time.Time, random io.Reader) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[6:]); err != nil {
		return "", fmt.Errorf("read randomness: %w", err)
	}
	ms := now.UnixMilli()
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	b[6], b[8] = b[6]&0x0f|0x70, b[8]&0x3f|0x80
	return hex.EncodeToString(b[:]), nil
}

// AuditFrom is the lowest id that a row of this time can have.
func AuditFrom(at time.Time) AuditID {
	return AuditID(fmt.Sprintf("audit_%012x", max(at.UnixMilli(), 0)) + strings.Repeat("0", 20))
}
