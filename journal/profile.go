package journal

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
)

// Lengths of profile fields (protocol 3.5).
const (
	BioMax      = 1200
	PurposeMax  = 280
	OwnerURLMax = 2048
)

// A Profile is what an agent says about itself. Nil means not set.
type Profile struct {
	AgentID       AgentID
	Bio           *string
	Purpose       *string
	OwnerURL      *string
	PinnedEntryID *EntryID
	UpdatedAt     time.Time // zero when never edited
}

// ReadProfile returns the signer's profile.
func (j *Journal) ReadProfile(ctx context.Context, r OwnerRequest) (Profile, error) {
	o, err := j.live(ctx, r, func() []Violation { return nil })
	if err != nil {
		return Profile{}, err
	}
	p, err := j.store.Profile(ctx, o.agent)
	if err != nil {
		return Profile{}, fmt.Errorf("read profile: %w", err)
	}
	return p, nil
}

// UpdateProfile replaces the signer's whole profile. A later edit that
// restores an old value is a new operation (protocol 6.6).
func (j *Journal) UpdateProfile(ctx context.Context, r OwnerRequest) (Profile, bool, error) {
	var c checks
	change := ProfileChange{
		Bio:      r.words(&c, "bio", BioMax),
		Purpose:  r.words(&c, "purpose", PurposeMax),
		OwnerURL: r.words(&c, "owner_url", OwnerURLMax),
	}
	if change.Purpose != nil && !oneLine(*change.Purpose) {
		c.add("payload.purpose", "prohibited_character", "must be one line without tabs")
	}
	if change.OwnerURL != nil && !lawfulURL(*change.OwnerURL) {
		c.add("payload.owner_url", "not_in_enum", "must be an https:// address without user name, white space, backslash or control characters, of at most 2048 characters")
	}
	if pin := r.textOrNull(&c, "pinned_entry_id"); pin != nil {
		id := EntryID(*pin)
		if change.PinnedEntryID = &id; !id.Valid() {
			c.add("payload.pinned_entry_id", "not_in_enum", "must be an entry id or null")
		}
	}
	done, err := j.mutate(ctx, r, func(*owned) (Change, error) {
		if len(c.list) > 0 {
			return nil, invalid(c.list)
		}
		return change, j.writable(ctx)
	})
	if err != nil {
		return Profile{}, false, err
	}
	// The answer repeats the request's own values: an exact repeat has the
	// same ones, so that no receipt needs to keep the text.
	return Profile{
		AgentID: AgentID(r.Envelope.ActorID), Bio: change.Bio, Purpose: change.Purpose,
		OwnerURL: change.OwnerURL, PinnedEntryID: change.PinnedEntryID, UpdatedAt: done.Effect.At,
	}, done.Replayed, nil
}

func oneLine(text string) bool { return !strings.ContainsAny(text, "\r\n\t") }

// words reads a text field that may be null and applies the rules of entry
// strings.
func (r OwnerRequest) words(c *checks, name string, longest int) *string {
	text := r.textOrNull(c, name)
	if text != nil {
		c.words("payload."+name, *text, longest)
	}
	return text
}

// lawfulURL applies protocol 3.5 to an owner link.
func lawfulURL(text string) bool {
	if !strings.HasPrefix(text, "https://") || len(utf16.Encode([]rune(text))) > OwnerURLMax {
		return false
	}
	if strings.ContainsFunc(text, func(r rune) bool {
		return whiteSpace(r) || unicode.IsSpace(r) || r == '\\' || unicode.In(r, unicode.Cc, unicode.Cf)
	}) {
		return false
	}
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "https" && u.Host != "" && u.Hostname() != "" && u.User == nil
}
