package models_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"innerloop/internal/keyring"
	"innerloop/journal"
	"innerloop/models"
	"innerloop/models/pgtest"
	"innerloop/seal"
)

// world is one empty store and what a test needs to fill it.
type world struct {
	*models.Store
	t       testing.TB
	url     string
	queries *queryLog
	serial  atomic.Uint64
}

type queryLog struct {
	mu    sync.Mutex
	texts []string
}

func (l *queryLog) add(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.texts = append(l.texts, text)
}

func (l *queryLog) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	texts := l.texts
	l.texts = nil
	return texts
}

func engines(t testing.TB) map[string]func(testing.TB) string {
	t.Helper()
	return map[string]func(testing.TB) string{
		"sqlite": func(t testing.TB) string {
			return "sqlite:" + filepath.Join(t.TempDir(), "a folder?", "inner #1.db")
		},
		"postgres": func(t testing.TB) string { return pgtest.Database(t) },
	}
}

// forEachEngine runs a test on an empty store of each engine.
func forEachEngine(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	for name, url := range engines(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, openWorld(t, url(t)))
		})
	}
}

func openWorld(t testing.TB, url string) *world {
	t.Helper()
	w := &world{t: t, url: url, queries: &queryLog{}}
	w.Store = w.open()
	return w
}

// open opens another store on the same database.
func (w *world) open() *models.Store {
	w.t.Helper()
	s, err := models.Open(w.t.Context(), models.Options{URL: w.url, Migrate: true, Observe: w.queries.add})
	if err != nil {
		w.t.Fatalf("open: %v", err)
	}
	w.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			w.t.Errorf("close: %v", err)
		}
	})
	return s
}

// raw returns a connection of the test's own, past the store.
func (w *world) raw() *sql.DB {
	w.t.Helper()
	return rawDatabase(w.t, w.url)
}

func rawDatabase(t testing.TB, url string) *sql.DB {
	t.Helper()
	driver, address := "pgx", url
	if path, lite := strings.CutPrefix(url, "sqlite:"); lite {
		driver = "sqlite"
		address = "file:" + strings.NewReplacer("?", "%3f", "#", "%23", " ", "%20").Replace(path) + "?_pragma=busy_timeout(10000)"
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// must runs SQL past the store; values stand in the text.
func (w *world) must(format string, args ...any) {
	w.t.Helper()
	if _, err := w.raw().Exec(fmt.Sprintf(format, args...)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) now() time.Time { return time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC) }

// digest returns a fresh digest.
func (w *world) digest() journal.Digest {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], w.serial.Add(1))
	return sha256.Sum256(b[:])
}

func (w *world) hex() string {
	d := w.digest()
	return hex.EncodeToString(d[:16])
}

type agent struct {
	w       *world
	id      journal.AgentID
	private ed25519.PrivateKey
	public  seal.PublicKey
}

func (w *world) key() (ed25519.PrivateKey, seal.PublicKey) {
	w.t.Helper()
	d := w.digest()
	private := ed25519.NewKeyFromSeed(d[:])
	public, err := seal.PublicKeyOf(private)
	if err != nil {
		w.t.Fatal(err)
	}
	return private, public
}

func (w *world) challenge(public seal.PublicKey) journal.Challenge {
	w.t.Helper()
	h := w.hex()
	c := journal.Challenge{
		ID:        journal.ChallengeID(h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-8" + h[17:20] + "-" + h[20:32]),
		Challenge: h, DisplayName: "Ada", PublicKey: public,
		IssuedAt: w.now(), ExpiresAt: w.now().Add(5 * time.Minute),
	}
	if err := w.SaveChallenge(w.t.Context(), c); err != nil {
		w.t.Fatal(err)
	}
	return c
}

// unregistered makes an agent that the store does not know yet.
func (w *world) unregistered() *agent {
	w.t.Helper()
	private, public := w.key()
	return &agent{w: w, id: journal.AgentID("agent_" + w.hex()), private: private, public: public}
}

func (a *agent) registration() journal.NewAgent {
	a.w.t.Helper()
	return journal.NewAgent{
		ChallengeID: a.w.challenge(a.public).ID, Signature: seal.Sign(a.private, []byte("yes")),
		AgentID: a.id, DisplayName: "Ada", Key: a.public, At: a.w.now(),
	}
}

func (w *world) agent() *agent {
	w.t.Helper()
	a := w.unregistered()
	if err := w.CompleteRegistration(w.t.Context(), a.registration()); err != nil {
		w.t.Fatal(err)
	}
	return a
}

// writes makes a proven entry. Each call makes another id, nonce and
// idempotency key.
func (a *agent) writes(visibility, title string, tags ...string) journal.NewEntry {
	a.w.t.Helper()
	if tags == nil {
		tags = []string{}
	}
	entry := seal.Entry{State: "calm", Title: title, Body: "The light is \"first\".\n", Tags: tags, Visibility: visibility}
	payload := entry.Canonical()
	nonce, number := a.w.digest(), a.w.serial.Add(1)
	envelope := seal.Envelope{
		ActorID: string(a.id), Action: seal.ActionEntryCreate, PayloadHash: seal.PayloadHash(payload),
		Nonce: hex.EncodeToString(nonce[:]), IssuedAt: "2026-09-01T10:00:00.000Z", ExpiresAt: "2026-09-01T10:05:00.000Z",
		KeyID: a.public.ID(),
	}
	proven, err := seal.Prove(a.public, payload, envelope, seal.Sign(a.private, envelope.Canonical()))
	if err != nil {
		a.w.t.Fatal(err)
	}
	at := a.w.now().Add(time.Duration(number) * time.Millisecond)
	e := journal.NewEntry{
		Proven: proven, Entry: entry, AgentID: a.id, CreatedAt: at, Language: "en",
		EntryID:        journal.EntryID(fmt.Sprintf("entry_%012x7%03x8%015x", at.UnixMilli(), 1, number)),
		IdempotencyKey: a.w.digest(), Nonce: nonce,
	}
	e.Receipt = journal.EntryReceipt{
		EntryID: e.EntryID, Visibility: visibility, CreatedAt: at,
		Payload:    keyring.Mac{KeyID: "0badcafe", Sum: bytes.Repeat([]byte{byte(number)}, 32)},
		Submission: keyring.Mac{KeyID: "0badcafe", Sum: bytes.Repeat([]byte{byte(number >> 8)}, 32)},
	}
	return e
}

func (w *world) append(batch ...journal.NewEntry) []journal.Outcome {
	w.t.Helper()
	outcomes, err := w.AppendEntries(w.t.Context(), batch)
	if err != nil {
		w.t.Fatal(err)
	}
	if len(outcomes) != len(batch) {
		w.t.Fatalf("%d outcomes for %d items", len(outcomes), len(batch))
	}
	return outcomes
}

func (w *world) publish(e journal.NewEntry) journal.NewEntry {
	w.t.Helper()
	if o := w.append(e)[0]; o.Clash != journal.None {
		w.t.Fatalf("clash %d", o.Clash)
	}
	return e
}

func clashes(outcomes []journal.Outcome) []journal.Clash {
	var list []journal.Clash
	for _, o := range outcomes {
		list = append(list, o.Clash)
	}
	return list
}
