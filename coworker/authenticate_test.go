package coworker_test

import (
	"context"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"innerloop/coworker"
	"innerloop/coworker/coworkertest"
	"innerloop/journal/journaltest"
)

// counted counts the work of the store.
type counted struct {
	coworker.Store
	reads, touches atomic.Int64
}

func (s *counted) KeyByPrefix(ctx context.Context, prefix string) (coworker.StoredKey, error) {
	s.reads.Add(1)
	return s.Store.KeyByPrefix(ctx, prefix)
}

func (s *counted) TouchKey(ctx context.Context, id coworker.KeyID, minute time.Time, from netip.Addr) error {
	s.touches.Add(1)
	return s.Store.TouchKey(ctx, id, minute, from)
}

func openCounted(t *testing.T) (*coworkertest.C, *counted) {
	t.Helper()
	j := journaltest.Open(t)
	s := &counted{Store: j.Store.Coworker()}
	return coworkertest.Around(t, j, s), s
}

// forged returns a key of the right form under a given public prefix.
func forged(t *testing.T, prefix string) coworker.Secret {
	t.Helper()
	for seed := byte(0); ; seed++ {
		s, err := coworker.NewSecret(&fixed{prefix: prefix[len("sk-org-"):], fill: seed})
		if err != nil {
			t.Fatal(err)
		}
		if s.Prefix() == prefix {
			return s
		}
	}
}

// fixed is a randomness that draws the wanted public part.
type fixed struct {
	prefix string
	fill   byte
}

func (f *fixed) Read(p []byte) (int, error) {
	if len(p) > 1 {
		for i := range p {
			p[i] = f.fill
		}
		return len(p), nil
	}
	p[0] = byte(strings.IndexByte("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", f.prefix[0]))
	f.prefix = f.prefix[1:]
	return 1, nil
}

func TestReasonsAreToldToWhoHasTheSecretAlone(t *testing.T) {
	t.Parallel()
	c, _ := openCounted(t)
	org := c.Found("Acme")
	good, secret := c.Key(org, coworker.NewKey{Days: 1})
	_, revoked := c.Key(org, coworker.NewKey{})
	try := func(header string) error {
		_, err := c.Authenticate(t.Context(), header, coworkertest.Home)
		return err
	}
	if _, err := c.RevokeKey(t.Context(), coworker.Operator(), org.Organization.ID, keyOf(t, c, revoked).ID); err != nil {
		t.Fatal(err)
	}
	for name, header := range map[string]string{
		"nothing": "", "no scheme": secret.Reveal(), "another scheme": "Basic " + secret.Reveal(), "no key": "Bearer ", "a word": "Bearer token",
		"a typo": "Bearer " + secret.Reveal()[:64] + "-", "two keys": "Bearer " + secret.Reveal() + " " + secret.Reveal(), "a tab": "Bearer\t" + secret.Reveal(),
	} {
		t.Run(name, func(t *testing.T) { coworkertest.WantReason(t, try(header), coworker.ReasonMalformed) })
	}
	for _, header := range []string{"Bearer " + secret.Reveal(), "bearer  " + secret.Reveal() + " ", "BEARER " + secret.Reveal()} {
		if err := try(header); err != nil {
			t.Errorf("%v", err)
		}
	}
	coworkertest.WantReason(t, try("Bearer "+forged(t, secret.Prefix()).Reveal()), coworker.ReasonUnknown)
	coworkertest.WantReason(t, try("Bearer "+forged(t, revoked.Prefix()).Reveal()), coworker.ReasonUnknown)
	coworkertest.WantReason(t, try("Bearer "+revoked.Reveal()), coworker.ReasonRevoked)
	c.J.Clock.Advance(24*time.Hour - time.Millisecond)
	if err := try("Bearer " + secret.Reveal()); err != nil {
		t.Error(err)
	}
	c.J.Clock.Advance(time.Millisecond)
	if r := coworkertest.WantReason(t, try("Bearer "+secret.Reveal()), coworker.ReasonExpired); r.ExpiredAt != coworker.FormatTime(good.ExpiresAt) {
		t.Errorf("expired at %s", r.ExpiredAt)
	}
	coworkertest.WantReason(t, try("Bearer "+forged(t, secret.Prefix()).Reveal()), coworker.ReasonUnknown)
}

func keyOf(t *testing.T, c *coworkertest.C, s coworker.Secret) coworker.Key {
	t.Helper()
	k, err := c.Store.KeyByPrefix(t.Context(), s.Prefix())
	if err != nil {
		t.Fatal(err)
	}
	return k.Key
}

// Who knows prefixes learns nothing from asking: the same answer, and the same
// work of the store.
func TestAKnownPrefixAnswersAsAnUnknownOne(t *testing.T) {
	t.Parallel()
	c, store := openCounted(t)
	org := c.Found("Acme")
	_, secret := c.Key(org, coworker.NewKey{})
	ask := func(s coworker.Secret) (*coworker.Fault, int64) {
		before := store.reads.Load()
		_, err := c.Authenticate(t.Context(), "Bearer "+s.Reveal(), coworkertest.Home)
		return coworkertest.WantCode(t, err, coworker.Unauthenticated), store.reads.Load() - before
	}
	known, knownReads := ask(forged(t, secret.Prefix()))
	unknown, unknownReads := ask(forged(t, "sk-org-00000000"))
	if !reflect.DeepEqual(known, unknown) || knownReads != 1 || unknownReads != 1 || store.touches.Load() != 0 {
		t.Errorf("%+v after %d reads, %+v after %d", known, knownReads, unknown, unknownReads)
	}
}

// Ten thousand bad keys from one network: told to wait, and a good key from
// the same network works through all of it. Waiting is told by network.
func TestAFloodOfBadKeysLocksNobodyOut(t *testing.T) {
	t.Parallel()
	c, store := openCounted(t)
	_, secret := c.Key(c.Found("Acme"), coworker.NewKey{})
	bad, waiting := 0, 0
	for i := range 10_000 {
		header := "Bearer nonsense"
		if i%2 == 0 {
			header = "Bearer " + forged(t, fmt.Sprintf("sk-org-%08d", i)).Reveal()
		}
		_, err := c.Authenticate(t.Context(), header, coworkertest.At(fmt.Sprintf("192.0.2.%d", i%250)))
		f, _ := coworker.AsFault(err)
		switch {
		case f != nil && f.Code == coworker.Unauthenticated:
			bad++
		case f != nil && f.Code == coworker.RateLimited && f.RetryAfter >= time.Second && f.RetryAfter <= time.Minute:
			waiting++
		default:
			t.Fatal(err)
		}
		if i%1000 == 999 {
			c.Caller(secret)
		}
	}
	if bad != coworker.BadKeysPerMinute || waiting != 10_000-bad {
		t.Errorf("%d told, %d to wait", bad, waiting)
	}
	if store.touches.Load() != 1 {
		t.Errorf("%d writes of the last use in one minute", store.touches.Load())
	}
	_, err := c.Authenticate(t.Context(), "Bearer nonsense", coworkertest.At("198.51.100.1"))
	coworkertest.WantReason(t, err, coworker.ReasonMalformed)
	c.J.Clock.Advance(3 * time.Second)
	_, err = c.Authenticate(t.Context(), "Bearer nonsense", coworkertest.Home)
	coworkertest.WantReason(t, err, coworker.ReasonMalformed)
	coworkertest.WantCode(t, c.RefuseKey(coworkertest.Home), coworker.RateLimited)
}

func TestAKeyIsBoundToItsNetworks(t *testing.T) {
	t.Parallel()
	c, _ := openCounted(t)
	_, secret := c.Key(c.Found("Acme"), coworker.NewKey{Networks: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("2001:db8::/32")}})
	for address, may := range map[string]bool{
		"198.51.100.9": true, "::ffff:198.51.100.9": true, "2001:db8:1::1": true, "198.51.101.1": false, "2001:db9::1": false,
	} {
		_, err := c.Authenticate(t.Context(), "Bearer "+secret.Reveal(), coworkertest.At(address))
		if may && err != nil {
			t.Errorf("%s: %v", address, err)
		}
		if !may {
			coworkertest.WantCode(t, err, coworker.PermissionDenied)
		}
	}
	_, err := c.Authenticate(t.Context(), "Bearer "+secret.Reveal(), coworker.From{})
	coworkertest.WantCode(t, err, coworker.PermissionDenied)
}

func TestTheLastUseIsKeptToTheMinute(t *testing.T) {
	t.Parallel()
	c, _ := openCounted(t)
	_, secret := c.Key(c.Found("Acme"), coworker.NewKey{})
	if k := keyOf(t, c, secret); !k.LastUsedAt.IsZero() || k.LastUsedFrom.IsValid() {
		t.Errorf("used before it was: %+v", k)
	}
	c.J.Clock.Advance(90 * time.Second)
	c.Caller(secret)
	k := keyOf(t, c, secret)
	if want := c.J.Clock.Now().Truncate(time.Minute); !k.LastUsedAt.Equal(want) || k.LastUsedFrom != coworkertest.Home.Address {
		t.Errorf("last used %s from %s", k.LastUsedAt, k.LastUsedFrom)
	}
}

func TestAKeyKeepsItsPace(t *testing.T) {
	t.Parallel()
	c, _ := openCounted(t)
	org := c.Found("Acme")
	_, slow := c.Key(org, coworker.NewKey{Rate: 2})
	_, free := c.Key(org, coworker.NewKey{})
	who, other := c.Caller(slow), c.Caller(free)
	for range 2 {
		if err := c.Pace(who); err != nil {
			t.Fatal(err)
		}
	}
	f := coworkertest.WantCode(t, c.Pace(who), coworker.RateLimited)
	for range 100 {
		if err := c.Pace(other); err != nil {
			t.Fatal(err)
		}
	}
	c.J.Clock.Advance(f.RetryAfter)
	if err := c.Pace(who); err != nil {
		t.Error(err)
	}
	more := 50
	if _, err := c.UpdateKey(t.Context(), coworker.Operator(), org.Organization.ID, who.Key, coworker.Change{Rate: &more}); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		if err := c.Pace(c.Caller(slow)); err != nil {
			t.Fatal(err)
		}
	}
}
