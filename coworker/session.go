package coworker

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// How long a session of the settings pages lasts, and how long without use.
const (
	SessionLife = 12 * time.Hour
	SessionIdle = time.Hour
)

// A Session is one sign-in to the settings pages with an admin key. It ends by
// time, by hand, and with its key.
type Session struct {
	ID           SessionID
	Organization OrganizationID
	User         UserID
	Key          KeyID
	CreatedAt    time.Time
	UsedAt       time.Time // a whole minute, or when it was opened
	ExpiresAt    time.Time
}

// A Token is the value of the session cookie: 43 characters of base64url.
// Printing it shows nothing.
type Token struct{ text func() string }

// Reveal returns the token.
func (t Token) Reveal() string {
	if t.text == nil {
		return ""
	}
	return t.text()
}

// String hides the token.
func (Token) String() string { return "hidden" }

func (t Token) sum() Sum { return sha256.Sum256([]byte(t.Reveal())) }

// CSRF is what every form of a session carries: it follows from the token and
// does not lead back to it.
func (t Token) CSRF() string {
	mac := hmac.New(sha256.New, []byte(t.Reveal()))
	mac.Write([]byte("innerloop csrf"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// MatchesCSRF compares in constant time.
func (t Token) MatchesCSRF(sent string) bool { return hmac.Equal([]byte(t.CSRF()), []byte(sent)) }

// ReadToken reads a cookie; ok is false for what no token can be.
func ReadToken(cookie string) (t Token, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cookie)
	if err != nil || len(raw) != sha256.Size {
		return Token{}, false
	}
	return Token{func() string { return cookie }}, true
}

// errNoSession is told alike for every reason.
func errNoSession() error {
	return NoCaller(ReasonUnknown, "sign in again with a key that has the scope admin")
}

// OpenSession opens a session with an admin key that was pasted into the page.
// Bad keys count as in Authenticate.
func (c *Coworker) OpenSession(ctx context.Context, key string, from From) (Session, Token, error) {
	who, err := c.Authenticate(ctx, "Bearer "+strings.TrimSpace(key), from)
	if err != nil {
		return Session{}, Token{}, err
	}
	if !who.Scopes.Holds(Admin) {
		return Session{}, Token{}, denied(who.Scopes, Admin)
	}
	var raw [sha256.Size]byte
	if _, err := io.ReadFull(c.random, raw[:]); err != nil {
		return Session{}, Token{}, fmt.Errorf("read randomness: %w", err)
	}
	text := base64.RawURLEncoding.EncodeToString(raw[:])
	token := Token{func() string { return text }}
	now := c.clock()
	id, err := newID(now, c.random)
	if err != nil {
		return Session{}, Token{}, err
	}
	s := Session{ID: SessionID("session_" + id), Organization: who.Organization, User: who.User, Key: who.Key, CreatedAt: now, UsedAt: now, ExpiresAt: now.Add(SessionLife)}
	a, err := c.act(who, who.Organization, "session.open", string(s.ID))
	if err != nil {
		return Session{}, Token{}, err
	}
	if err := c.store.SaveSession(ctx, s, token.sum(), a); err != nil {
		return Session{}, Token{}, fmt.Errorf("open session: %w", err)
	}
	return s, token, nil
}

// Session returns whose session a token is, as the key is now: revoked,
// expired, no longer admin or used from a foreign address ends it.
func (c *Coworker) Session(ctx context.Context, token Token, from From) (Session, Caller, error) {
	s, k, err := c.store.SessionByToken(ctx, token.sum())
	if errors.Is(err, ErrNotFound) {
		return Session{}, Caller{}, errNoSession()
	}
	if err != nil {
		return Session{}, Caller{}, fmt.Errorf("read session: %w", err)
	}
	now := c.clock()
	if !now.Before(s.ExpiresAt) || now.Sub(s.UsedAt) >= SessionIdle || k.Status(now) != "active" || !k.Scopes.Holds(Admin) || !k.admits(from.Address) {
		return Session{}, Caller{}, errNoSession()
	}
	if minute := now.Truncate(time.Minute); s.UsedAt.Before(minute) {
		if err := c.store.TouchSession(ctx, s.ID, minute); err != nil {
			c.logger.ErrorContext(ctx, "the use of a session was not remembered", "session_id", string(s.ID), "error", err)
		}
	}
	who := k.caller()
	who.Session, who.From = s.ID, from
	return s, who, nil
}

// Sessions lists the open sessions of the caller's organisation.
func (c *Coworker) Sessions(ctx context.Context, who Caller) ([]Session, error) {
	if err := who.administers(who.Organization); err != nil {
		return nil, err
	}
	return c.store.Sessions(ctx, who.Organization, c.clock(), PageMax)
}

// EndSession ends a session of the caller's organisation: one's own or
// another's.
func (c *Coworker) EndSession(ctx context.Context, who Caller, id SessionID) error {
	if err := who.administers(who.Organization); err != nil {
		return err
	}
	a, err := c.act(who, who.Organization, "session.end", string(id))
	if err != nil {
		return err
	}
	return found(c.store.EndSession(ctx, who.Organization, id, a), "session")
}
