package coworker

import (
	"errors"
	"io"
	"log/slog"
	"net/netip"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"innerloop/internal/limit"
)

// Options are what a Coworker is made of. Store, Now and Random are required.
type Options struct {
	Store  Store
	Now    func() time.Time
	Random io.Reader    // safe for concurrent use
	Logger *slog.Logger // nil discards
	// InfoURL is the address of the info document, named in hints.
	InfoURL string
	// Unlimited switches the budget of bad keys and the rates of keys off.
	Unlimited bool
}

// A Coworker answers every question of this room. It is safe for concurrent
// use and keeps nothing between requests but budgets.
type Coworker struct {
	store  Store
	now    func() time.Time
	random io.Reader
	logger *slog.Logger
	info   string
	free   bool
	bad    *limit.Buckets // bad keys by network
	pace   *pace          // calls by key
}

// New makes a Coworker.
func New(o Options) (*Coworker, error) {
	if o.Store == nil || o.Now == nil || o.Random == nil {
		return nil, errors.New("coworker: store, clock and randomness are required")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Coworker{
		store: o.Store, now: o.Now, random: o.Random, logger: o.Logger, info: o.InfoURL, free: o.Unlimited,
		bad: limit.NewBuckets(networksMax), pace: newPace(pacedMax),
	}, nil
}

// How many networks and keys the budgets of a process remember.
const (
	networksMax = 65_536
	pacedMax    = 16_384
)

// clock is the time as it is stored: UTC, whole milliseconds.
func (c *Coworker) clock() time.Time { return c.now().UTC().Truncate(time.Millisecond) }

// From is where a request came from.
type From struct {
	Network limit.Network // whom bad keys are counted under
	Address netip.Addr    // the client's own, zero when unknown
}

// A Caller is who asks, as it was when the request came: a key that was
// checked, a session opened with one, or the operator at the command line.
type Caller struct {
	Organization OrganizationID
	User         UserID
	Key          KeyID
	Scopes       Scopes
	Connectors   []string // nil means every connector
	Class        Class
	Session      SessionID // empty for a key in a header
	From         From

	rate     int
	operator bool
}

// IsOperator tells the operator at the command line from every key.
func (c Caller) IsOperator() bool { return c.operator }

// Operator is the caller of the command line: it has the database anyway.
func Operator() Caller {
	return Caller{Scopes: Admin, Class: ClassIrreversible, operator: true}
}

// administers refuses a caller who may not manage the organisation. Whether
// somebody else's organisation exists is not told.
func (who Caller) administers(o OrganizationID) error {
	switch {
	case who.operator:
		return nil
	case !who.Scopes.Holds(Admin):
		return denied(who.Scopes, Admin)
	case who.Organization != o:
		return Missing("organization")
	}
	return nil
}

// NameMax is the longest name of an organisation, a user or a key, in code
// points.
const NameMax = 80

// checkName returns what is wrong with a name.
func checkName(name string) []Problem {
	odd := func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)
	}
	n := utf8.RuneCountInString(name)
	if n == 0 || n > NameMax || !utf8.ValidString(name) || strings.TrimSpace(name) != name || strings.ContainsFunc(name, odd) {
		return []Problem{{Field: "name", Problem: "must have 1 to 80 characters, none of them a control or format character, no space at either end"}}
	}
	return nil
}

// What a list may hold on a page.
const (
	PageDefault = 100
	PageMax     = 500
)

func pageSize(limit int) (int, error) {
	switch {
	case limit == 0:
		return PageDefault, nil
	case limit < 1 || limit > PageMax:
		return 0, InvalidArguments(Problem{Field: "limit", Problem: "must be a whole number from 1 to 500"})
	}
	return limit, nil
}

func badCursor() error {
	return InvalidArguments(Problem{Field: "cursor", Problem: "must be the next_cursor of an earlier answer, unchanged"})
}
