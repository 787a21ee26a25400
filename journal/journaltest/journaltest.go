// Package journaltest speaks the domain in tests: a journal on a real store
// with a fixed clock and seeded randomness, and agents that sign.
//
// It promises that nothing but the clock and the randomness is false: entries
// are signed, verified and stored as in service.
package journaltest

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"innerloop/internal/keyring"
	"innerloop/internal/limit"
	"innerloop/journal"
	"innerloop/models"
	"innerloop/seal"
)

// Start is what the clock of a new journal says.
var Start = time.Date(2026, 9, 1, 10, 1, 0, 0, time.UTC)

// A J is a journal under test.
type J struct {
	*journal.Journal
	Store  *models.Store
	Clock  *Clock
	Random io.Reader
	Keys   *keyring.Ring

	t       testing.TB
	n       int
	wrapped journal.Store
}

// Open makes a journal on an embedded store of its own.
func Open(t testing.TB) *J {
	t.Helper()
	return OpenOn(t, "sqlite:"+filepath.Join(t.TempDir(), "journal.db"))
}

// OpenOn makes a journal on the database at url.
func OpenOn(t testing.TB, url string) *J {
	t.Helper()
	store, err := models.Open(t.Context(), models.Options{URL: url, Migrate: true})
	if err != nil {
		t.Fatalf("open store: %v", err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
	return Around(t, store, store)
}

// Around makes a journal over a store that may be wrapped, so that a test can
// inject faults between the rules and the data.
func Around(t testing.TB, store *models.Store, wrapped journal.Store) *J {
	t.Helper()
	keys, err := keyring.New(make([]byte, keyring.MasterSize))
	if err != nil {
		t.Fatal(err)
	}
	j := &J{Store: store, Clock: &Clock{now: Start}, Random: &randomness{source: rand.NewChaCha8(sha256.Sum256([]byte(t.Name())))}, Keys: keys, t: t, wrapped: wrapped}
	j.Journal, err = journal.New(journal.Options{Store: wrapped, Now: j.Clock.Now, Random: j.Random, Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// A Clock stands still until it is told to move.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// Now is the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Set moves the clock to a time.
func (c *Clock) Set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

type randomness struct {
	mu     sync.Mutex
	source *rand.ChaCha8
}

func (r *randomness) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.source.Read(p)
}

// An Agent is registered and holds its key.
type Agent struct {
	ID      journal.AgentID
	KeyID   journal.KeyID
	Name    string
	Private ed25519.PrivateKey
	Public  seal.PublicKey

	j *J
	n int
}

// Key derives a key pair from a label.
func Key(t testing.TB, label string) (ed25519.PrivateKey, seal.PublicKey) {
	t.Helper()
	seed := sha256.Sum256([]byte(label))
	private := ed25519.NewKeyFromSeed(seed[:])
	public, err := seal.PublicKeyOf(private)
	if err != nil {
		t.Fatal(err)
	}
	return private, public
}

// Agent registers an agent as the protocol has it.
func (j *J) Agent(name string) *Agent {
	j.t.Helper()
	j.n++
	private, public := Key(j.t, fmt.Sprintf("%s %d", name, j.n))
	c, err := j.StartRegistration(j.t.Context(), journal.Caller{}, name, public.String())
	if err != nil {
		j.t.Fatalf("start registration: %v", err)
	}
	r, err := j.CompleteRegistration(j.t.Context(), journal.Caller{}, c.ID, seal.Sign(private, []byte(c.SigningMessage())).String())
	if err != nil {
		j.t.Fatalf("complete registration: %v", err)
	}
	return &Agent{ID: r.AgentID, KeyID: r.KeyID, Name: name, Private: private, Public: public, j: j}
}

// VectorAgent stores the agent of the published test vectors under the id they
// name. Registration itself would choose another id.
func (j *J) VectorAgent() *Agent {
	j.t.Helper()
	private, public := Key(j.t, "compat vector key A")
	c := journal.Challenge{
		ID: "7d3b5b1e-2f4a-4c6d-8e9f-0a1b2c3d4e5f", Challenge: "c2FtcGxlLWNoYWxsZW5nZS0wMDAx", DisplayName: "Vector Agent",
		PublicKey: public, IssuedAt: j.Clock.Now(), ExpiresAt: j.Clock.Now().Add(5 * time.Minute),
	}
	if err := j.Store.SaveChallenge(j.t.Context(), c); err != nil {
		j.t.Fatalf("save challenge: %v", err)
	}
	a := &Agent{ID: "agent_vector0001", KeyID: journal.KeyID(public.ID()), Name: c.DisplayName, Private: private, Public: public, j: j}
	err := j.Store.CompleteRegistration(j.t.Context(), journal.NewAgent{
		ChallengeID: c.ID, Signature: seal.Sign(private, []byte(c.SigningMessage())), AgentID: a.ID,
		DisplayName: a.Name, Key: public, At: j.Clock.Now(),
	})
	if err != nil {
		j.t.Fatalf("store the vector agent: %v", err)
	}
	return a
}

// A draft is an entry with its envelope before it is signed.
type draft struct {
	journal.Submission
	private ed25519.PrivateKey
}

// An Option changes a draft before it is signed.
type Option func(*draft)

// Private makes the entry its owner's alone.
func Private(d *draft) { d.Entry.Visibility = journal.Private }

// Body sets the text.
func Body(text string) Option { return func(d *draft) { d.Entry.Body = text } }

// State sets the self-reported state.
func State(text string) Option { return func(d *draft) { d.Entry.State = text } }

// Tags sets the tags.
func Tags(tags ...string) Option { return func(d *draft) { d.Entry.Tags = tags } }

// SameNonce reuses the nonce of an earlier submission.
func SameNonce(s journal.Submission) Option {
	return func(d *draft) { d.Envelope.Nonce = s.Envelope.Nonce }
}

// SameIdempotencyKey reuses the key of an earlier submission.
func SameIdempotencyKey(s journal.Submission) Option {
	return func(d *draft) { d.IdempotencyKey = s.IdempotencyKey }
}

// Window sets both times relative to the clock.
func Window(issued, expires time.Duration) Option {
	return func(d *draft) {
		now, err := seal.ParseDateTime(d.Envelope.IssuedAt)
		if err != nil {
			panic(err)
		}
		d.Envelope.IssuedAt = seal.FormatDateTime(now.Add(issued))
		d.Envelope.ExpiresAt = seal.FormatDateTime(now.Add(expires))
	}
}

// Envelope changes the envelope in any way.
func Envelope(change func(*seal.Envelope)) Option {
	return func(d *draft) { change(&d.Envelope) }
}

// SignedBy signs with another key than the agent's.
func SignedBy(private ed25519.PrivateKey) Option { return func(d *draft) { d.private = private } }

// Signs writes an entry with this title and signs it: public, unless an option
// says otherwise, with a fresh nonce and idempotency key.
func (a *Agent) Signs(title string, options ...Option) journal.Submission {
	a.j.t.Helper()
	a.n++
	nonce, err := journal.NewUUID(a.j.Random)
	if err != nil {
		a.j.t.Fatal(err)
	}
	key, err := journal.NewUUID(a.j.Random)
	if err != nil {
		a.j.t.Fatal(err)
	}
	now := a.j.Clock.Now()
	d := draft{private: a.Private, Submission: journal.Submission{
		Entry: seal.Entry{
			State: "steady", Title: title, Body: fmt.Sprintf("Text %d of %s.", a.n, a.Name),
			Tags: []string{"notes"}, Visibility: journal.Public,
		},
		Envelope: seal.Envelope{
			ActorID: string(a.ID), Action: seal.ActionEntryCreate, Nonce: nonce,
			IssuedAt: seal.FormatDateTime(now), ExpiresAt: seal.FormatDateTime(now.Add(seal.WindowMax)), KeyID: string(a.KeyID),
		},
		IdempotencyKey: key,
	}}
	for _, option := range options {
		option(&d)
	}
	if d.Envelope.PayloadHash == "" {
		d.Envelope.PayloadHash = seal.PayloadHash(d.Entry.Canonical())
	}
	d.Signature = seal.Sign(d.private, d.Envelope.Canonical()).String()
	return d.Submission
}

// MustPublish publishes and fails the test on a refusal.
func (j *J) MustPublish(s journal.Submission) journal.Receipt {
	j.t.Helper()
	receipt, err := j.PublishEntry(j.t.Context(), s)
	if err != nil {
		j.t.Fatalf("publish: %v", err)
	}
	return receipt
}

// Check proves every stored entry again; it ends each story.
func (j *J) Check() journal.Verified {
	j.t.Helper()
	seen, err := j.Verify(j.t.Context(), nil)
	if err != nil {
		j.t.Errorf("verify: %v", err)
	}
	return seen
}

// WantFault fails unless err is a refusal with this code.
func WantFault(t testing.TB, err error, code journal.Code) {
	t.Helper()
	f, ok := journal.AsFault(err)
	if !ok || f.Code != code {
		t.Errorf("got %v, want the refusal %s", err, code)
	}
}

// Limit puts limits in force, before anything else calls. Budgets per minute
// begin anew.
func (j *J) Limit(limits *limit.Settings) {
	j.t.Helper()
	limited, err := journal.New(journal.Options{Store: j.wrapped, Now: j.Clock.Now, Random: j.Random, Keys: j.Keys, Limits: limits})
	if err != nil {
		j.t.Fatal(err)
	}
	*j.Journal = *limited // doors hold the pointer
}

// Speaks lets the journal know the language of a text by a function.
func (j *J) Speaks(language func(text string) string) {
	j.t.Helper()
	speaking, err := journal.New(journal.Options{Store: j.wrapped, Now: j.Clock.Now, Random: j.Random, Keys: j.Keys, Language: language})
	if err != nil {
		j.t.Fatal(err)
	}
	*j.Journal = *speaking
}

// Beside opens the database once more, as another process would: another
// store and another journal, with the same clock and keys.
func (j *J) Beside(url string, limits *limit.Settings) *J {
	j.t.Helper()
	other := OpenOn(j.t, url)
	other.Clock, other.n = j.Clock, 1000
	other.Limit(limits)
	return other
}

// From is a caller at an address.
func From(t testing.TB, address string) journal.Caller {
	t.Helper()
	at, err := netip.ParseAddr(address)
	if err != nil {
		t.Fatal(err)
	}
	return journal.Caller{Network: limit.NetworkOf(at)}
}

// Calling sends an entry from a caller.
func Calling(c journal.Caller) Option { return func(d *draft) { d.Caller = c } }
