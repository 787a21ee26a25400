package models

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"innerloop/journal"
)

// What Open and the checks of a store answer.
var (
	ErrDatabaseURL     = errors.New("models: the database address must be sqlite:FILE or postgres://…")
	ErrForeignDatabase = errors.New("models: the database holds tables that are not ours; give Innerloop a database of its own")
	ErrNewerSchema     = errors.New("models: the database was made by a newer version of Innerloop; start that version")
	ErrNotMigrated     = errors.New("models: the database schema is older than this program; migrate it first")
	ErrMasterKey       = errors.New("models: the database belongs to another master key")
	ErrUnproven        = errors.New("models: an entry without proof is never stored")
	ErrClosed          = errors.New("models: the store is closed")
)

// Options say which database to open and how.
type Options struct {
	// URL is sqlite:FILE, postgres://… or postgresql://….
	URL string
	// DirectURL reaches the same PostgreSQL without a pooler, for migrations
	// under a session lock and for LISTEN. Empty means URL.
	DirectURL string
	// Migrate brings the schema up to date before Open returns.
	Migrate bool
	// Logger hears of retries and migrations, never of values. Nil is silent.
	Logger *slog.Logger
	// Readers bounds the connections; 0 means 4 for SQLite, 16 for PostgreSQL.
	Readers int
	// Now is the clock by which the public version is remembered; nil means
	// the machine's.
	Now func() time.Time
	// Wait waits for a time or for the context's end; nil means a timer.
	Wait func(ctx context.Context, d time.Duration) error
	// Observe, when set, is called with the text of each statement, without
	// its values, before it runs. It must be safe for concurrent use.
	Observe func(statement string)
}

// A Store is an open database. It fulfils journal.Store.
type Store struct {
	engine engine
	read   *conn
	write  *conn // on SQLite a pool of one connection; on PostgreSQL the same as read
	direct string
	log    *slog.Logger

	version versionCache
	bells   bells
	wait    func(context.Context, time.Duration) error
	writing switchCache
	whole   atomic.Bool // the index of words was seen complete
	stems   journal.Stems

	gate   sync.RWMutex // held for writing by Close, for reading while queueing
	closed bool
	queue  chan *appendCall
	done   sync.WaitGroup
}

var _ journal.Store = (*Store)(nil)

// Open connects, refuses a database that is foreign or newer, migrates when
// asked to, and starts the writers. The caller must Close the store.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Wait == nil {
		o.Wait = wait
	}
	s := &Store{log: o.Logger, direct: o.DirectURL, queue: make(chan *appendCall, queueLength)}
	if s.direct == "" {
		s.direct = o.URL
	}
	var err error
	switch scheme, rest, _ := strings.Cut(o.URL, ":"); {
	case scheme == "sqlite" && rest != "" && !strings.HasPrefix(rest, ":"):
		s.engine = sqliteEngine
		s.read, s.write, err = openSQLite(ctx, rest, o)
	case scheme == "postgres" || scheme == "postgresql":
		s.engine = postgresEngine
		s.read, err = openPostgres(ctx, o)
		s.write = s.read
	default:
		return nil, ErrDatabaseURL
	}
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := s.prepareSchema(ctx, o.Migrate); err != nil {
		return nil, errors.Join(err, s.closeConnections())
	}
	s.version.now, s.wait = o.Now, o.Wait
	s.write.committed = s.committed
	for range s.engine.writers {
		s.done.Add(1)
		go s.writeLoop()
	}
	return s, nil
}

// Close waits for the appends that were already handed in, then disconnects.
// Later appends get ErrClosed.
func (s *Store) Close() error {
	s.gate.Lock()
	if s.closed {
		s.gate.Unlock()
		return nil
	}
	s.closed = true
	close(s.queue)
	s.gate.Unlock()
	s.done.Wait()
	return s.closeConnections()
}

func (s *Store) closeConnections() error {
	err := s.read.close()
	if s.write != s.read {
		err = errors.Join(err, s.write.close())
	}
	return err
}

// Engine returns "sqlite" or "postgres".
func (s *Store) Engine() string { return s.engine.name }

// Ping tells whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	var one int
	if _, err := s.read.one(ctx, `SELECT 1`, nil, &one); err != nil {
		return fmt.Errorf("ping database: %w", err)
	}
	return nil
}

// Empty tells whether no agent was ever registered.
func (s *Store) Empty(ctx context.Context) (bool, error) {
	var some bool
	if _, err := s.read.one(ctx, `SELECT EXISTS (SELECT 1 FROM agents)`, nil, &some); err != nil {
		return false, fmt.Errorf("look for agents: %w", err)
	}
	return !some, nil
}

// BindMasterKey ties the database to a master key by its fingerprint the first
// time, and afterwards returns ErrMasterKey for any other that is not among
// the earlier ones whose work can still be read.
func (s *Store) BindMasterKey(ctx context.Context, fingerprint string, earlier ...string) error {
	const name = "master_key_fingerprint"
	_, err := s.write.exec(ctx, `INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT DO NOTHING`, name, fingerprint)
	if err != nil {
		return fmt.Errorf("bind master key: %w", err)
	}
	var bound string
	if _, err := s.write.one(ctx, `SELECT value FROM meta WHERE key = ?`, []any{name}, &bound); err != nil {
		return fmt.Errorf("bind master key: %w", err)
	}
	if bound != fingerprint && !slices.Contains(earlier, bound) {
		return ErrMasterKey
	}
	return nil
}

// Instance returns the name that tells this database from every other; fresh
// becomes it when there is none yet. A copy of a database has the same name.
func (s *Store) Instance(ctx context.Context, fresh string) (string, error) {
	const name = "instance_id"
	_, err := s.write.exec(ctx, `INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT DO NOTHING`, name, fresh)
	var found string
	if err == nil {
		_, err = s.write.one(ctx, `SELECT value FROM meta WHERE key = ?`, []any{name}, &found)
	}
	if err != nil {
		return "", fmt.Errorf("name the database: %w", err)
	}
	return found, nil
}

// RebindMasterKey ties the database to another master key, unless it is tied to
// none of the earlier ones.
func (s *Store) RebindMasterKey(ctx context.Context, fingerprint string, earlier ...string) error {
	if err := s.BindMasterKey(ctx, fingerprint, earlier...); err != nil {
		return err
	}
	_, err := s.write.exec(ctx, `UPDATE meta SET value = ? WHERE key = ?`, fingerprint, "master_key_fingerprint")
	return err
}

// MasterKeys returns the ids of the master keys that data keys of the vault
// are wrapped under.
func (s *Store) MasterKeys(ctx context.Context) ([]string, error) {
	return all(s.read, ctx, "list master keys", func(rows *sql.Rows) (id string, err error) {
		err = rows.Scan(&id)
		return id, err
	}, `SELECT DISTINCT master FROM vault_keys ORDER BY master LIMIT 100`)
}
