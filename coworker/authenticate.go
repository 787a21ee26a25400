package coworker

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// BadKeysPerMinute is how many bad keys of one network are answered in a
// minute; further ones are told to wait. Good keys are never held up by them.
const BadKeysPerMinute = 20

// Authenticate returns whose key an Authorization header carries. It reads the
// store once for anything that has the form of a key, so that a known prefix
// costs and tells what an unknown one does, and nothing is remembered: what
// was changed about a key holds here at once.
func (c *Coworker) Authenticate(ctx context.Context, authorization string, from From) (Caller, error) {
	secret, ok := bearer(authorization)
	if !ok {
		return Caller{}, c.badKey(from, NoCaller(ReasonMalformed, "send the header Authorization: Bearer sk-org-…, with the whole key as it was shown"))
	}
	k, err := c.check(ctx, secret)
	if err != nil {
		if f, ok := AsFault(err); ok {
			return Caller{}, c.badKey(from, f)
		}
		return Caller{}, err
	}
	if !k.admits(from.Address) {
		return Caller{}, &Fault{
			Code: PermissionDenied, Message: "The key may not be used from this address.",
			Hint: "use it from a network on the key's list, or ask an admin to change the list", Details: struct {
				Reason string `json:"reason"`
			}{"address"},
		}
	}
	c.touch(ctx, k, from)
	who := k.caller()
	who.From = from
	return who, nil
}

// RefuseKey answers for a key that came in another way than in the header: it
// counts as a bad one and is not looked at.
func (c *Coworker) RefuseKey(from From) error {
	return c.badKey(from, NoCaller(ReasonMalformed, "use the header Authorization: Bearer sk-org-…; a key never belongs into an address. Revoke one that was sent in an address: it may stand in logs on the way"))
}

// MissingKey is the fault of a call that needs a key and came without.
func (c *Coworker) MissingKey() *Fault {
	hint := "send the header Authorization: Bearer sk-org-… with a key of your organization"
	if c.info != "" {
		hint += "; " + c.info + " says how"
	}
	return NoCaller(ReasonMissing, hint)
}

// check finds the key of a secret that can be used now.
func (c *Coworker) check(ctx context.Context, secret Secret) (Key, error) {
	k, err := c.store.KeyByPrefix(ctx, secret.Prefix())
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Key{}, fmt.Errorf("read key: %w", err)
	}
	// An unknown prefix is compared too, with a sum that nothing has.
	sum := secret.Sum()
	matches := subtle.ConstantTimeCompare(sum[:], k.Sum[:]) == 1
	now := c.clock()
	switch {
	case err != nil || !matches:
		return Key{}, NoCaller(ReasonUnknown, "check that this is a key of this service and that it was copied whole")
	case !k.RevokedAt.IsZero():
		return Key{}, NoCaller(ReasonRevoked, "ask an admin of the organization for a new key")
	case !now.Before(k.ExpiresAt):
		f := NoCaller(ReasonExpired, "ask an admin of the organization for a new key")
		f.Details = Refused{Reason: ReasonExpired, ExpiredAt: FormatTime(k.ExpiresAt)}
		return Key{}, f
	}
	return k.Key, nil
}

// badKey counts one bad key, or answers that there were too many.
func (c *Coworker) badKey(from From, f *Fault) error {
	if c.free {
		return f
	}
	if wait := c.bad.Take(from.Network, BadKeysPerMinute, c.now()); wait > 0 {
		return Paced(wait, BadKeysPerMinute, "bad keys a minute from one network")
	}
	return f
}

// touch remembers the use of a key, to the minute. It is no reason to refuse.
func (c *Coworker) touch(ctx context.Context, k Key, from From) {
	minute := c.clock().Truncate(time.Minute)
	if !k.LastUsedAt.Before(minute) {
		return
	}
	if err := c.store.TouchKey(ctx, k.ID, minute, from.Address.Unmap().WithZone("")); err != nil {
		c.logger.ErrorContext(ctx, "the use of a key was not remembered", "key_id", string(k.ID), "error", err)
	}
}

func (k Key) caller() Caller {
	return Caller{Organization: k.Organization, User: k.User, Key: k.ID, Scopes: k.Scopes, Connectors: k.Connectors, Class: k.Class, rate: k.Rate}
}

// admits tells whether the key may be used from an address.
func (k Key) admits(from netip.Addr) bool {
	return len(k.Networks) == 0 || slices.ContainsFunc(k.Networks, func(p netip.Prefix) bool { return p.Contains(from.Unmap()) })
}

// bearer reads the header of RFC 6750 2.1.
func bearer(authorization string) (Secret, bool) {
	scheme, rest, ok := strings.Cut(authorization, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return Secret{}, false
	}
	return ParseSecret(strings.Trim(rest, " "))
}

// Pace refuses a caller whose key has made all the calls of this minute.
func (c *Coworker) Pace(who Caller) error {
	if who.rate <= 0 || c.free {
		return nil
	}
	if wait := c.pace.take(who.Key, who.rate, c.now()); wait > 0 {
		return Paced(wait, who.rate, "calls a minute of this key")
	}
	return nil
}

// FormatTime writes a time as every answer of this room does: RFC 3339, UTC,
// milliseconds.
func FormatTime(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }
