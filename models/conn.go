package models

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"sync"

	"gorm.io/gorm"
)

// An engine is what differs between the two databases outside their SQL files.
type engine struct {
	name     string
	numbered bool   // placeholders are $1, $2 instead of ?
	prepare  bool   // statements are kept prepared here; pgx keeps its own
	writers  int    // goroutines that commit
	share    string // how a read in a transaction keeps its rows as they are
	own      string // how a read in a transaction keeps its rows to itself
	order    string // what a transaction runs before it takes public positions
	tables   string // names of the tables in our schema
	join     string // from a row of a timeline, t, to its entry, agent and key
	listed   string // from a row of agent_stats, s, to its agent and newest entry
	record   string // from a row of a timeline, t, to its entry alone
	pages    pages
	words    words
}

// conn is a pool of connections with GORM on top of it. The hot paths run
// hand-written SQL on the same pool: GORM's reflection costs half of a page.
type conn struct {
	db      *sql.DB
	gorm    *gorm.DB
	engine  engine
	observe func(string)
	// committed, when set, is called after each transaction's commit.
	committed func()

	mu         sync.RWMutex
	statements map[string]statement
}

// statement is a text in the engine's dialect, and its prepared form once
// there is one.
type statement struct {
	text     string
	prepared *sql.Stmt
}

func (c *conn) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, s := range c.statements {
		if s.prepared != nil {
			errs = append(errs, s.prepared.Close())
		}
	}
	c.statements = nil
	return errors.Join(append(errs, c.db.Close())...)
}

func (c *conn) lookup(query string) statement {
	c.mu.RLock()
	s, ok := c.statements[query]
	c.mu.RUnlock()
	if !ok {
		s = statement{text: query}
		if c.engine.numbered {
			s.text = numbered(query)
		}
		c.mu.Lock()
		if c.statements != nil {
			c.statements[query] = s
		}
		c.mu.Unlock()
	}
	return s
}

func (c *conn) tell(s statement) {
	if c.observe != nil {
		c.observe(s.text)
	}
}

// prepare keeps a prepared form of a query. It must not be called while this
// goroutine holds the only connection of the pool.
func (c *conn) prepare(ctx context.Context, query string) (statement, error) {
	s := c.lookup(query)
	if s.prepared != nil || !c.engine.prepare {
		return s, nil
	}
	stmt, err := c.db.PrepareContext(ctx, s.text)
	if err != nil {
		return s, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if first := c.statements[query]; first.prepared != nil || c.statements == nil {
		return first, stmt.Close()
	}
	s.prepared = stmt
	c.statements[query] = s
	return s, nil
}

// numbered rewrites ? into $1, $2 and so on. No statement here has a question
// mark of another kind.
func numbered(query string) string {
	var b strings.Builder
	for n := 1; ; n++ {
		before, after, found := strings.Cut(query, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(n))
		query = after
	}
}

func (c *conn) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s, err := c.prepare(ctx, query)
	c.tell(s)
	switch {
	case err != nil:
		return nil, err
	case s.prepared != nil:
		return s.prepared.QueryContext(ctx, args...)
	}
	return c.db.QueryContext(ctx, s.text, args...)
}

func (c *conn) exec(ctx context.Context, query string, args ...any) (int64, error) {
	s := c.lookup(query)
	c.tell(s)
	r, err := c.db.ExecContext(ctx, s.text, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// one scans the first row of a query; false means there was none.
func (c *conn) one(ctx context.Context, query string, args []any, dest ...any) (bool, error) {
	return first(c, ctx, query, args, dest...)
}

// querier is a pool or a transaction.
type querier interface {
	query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func first(q querier, ctx context.Context, query string, args []any, dest ...any) (found bool, err error) {
	rows, err := q.query(ctx, query, args...)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if !rows.Next() {
		return false, rows.Err()
	}
	return true, rows.Scan(dest...)
}

// each calls take for each row of a query.
func each(q querier, ctx context.Context, query string, args []any, take func(*sql.Rows) error) (err error) {
	rows, err := q.query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := take(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// transaction runs SQL on one connection of the pool.
type transaction struct {
	tx     *sql.Tx
	conn   *conn
	wanted []string // queries that had no prepared form yet
}

// inTransaction runs work in a transaction and commits when it returns nil.
func (c *conn) inTransaction(ctx context.Context, work func(*transaction) error) (err error) {
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	t := &transaction{tx: tx, conn: c}
	defer func() {
		if p := recover(); p != nil {
			_ = tx.Rollback() // the panic goes on and says more
			panic(p)
		}
	}()
	if err := work(t); err != nil {
		if undo := tx.Rollback(); undo != nil && !errors.Is(undo, sql.ErrTxDone) {
			return errors.Join(err, undo)
		}
		return err
	}
	err = tx.Commit()
	if c.committed != nil {
		c.committed() // also after an error: a commit whose answer was lost may stand
	}
	if err != nil {
		return err
	}
	// SQLite has one writing connection, so a statement met for the first
	// time inside a transaction can be prepared for the next only now.
	for _, query := range t.wanted {
		if _, err := c.prepare(ctx, query); err != nil {
			break // the transaction stands; the next one runs the plain text
		}
	}
	return nil
}

func (t *transaction) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s := t.conn.lookup(query)
	t.conn.tell(s)
	if s.prepared != nil {
		return t.tx.StmtContext(ctx, s.prepared).QueryContext(ctx, args...)
	}
	if t.conn.engine.prepare {
		t.wanted = append(t.wanted, query)
	}
	return t.tx.QueryContext(ctx, s.text, args...)
}

func (t *transaction) exec(ctx context.Context, query string, args ...any) (int64, error) {
	s := t.conn.lookup(query)
	t.conn.tell(s)
	var r sql.Result
	var err error
	if s.prepared != nil {
		r, err = t.tx.StmtContext(ctx, s.prepared).ExecContext(ctx, args...)
	} else {
		if t.conn.engine.prepare {
			t.wanted = append(t.wanted, query)
		}
		r, err = t.tx.ExecContext(ctx, s.text, args...)
	}
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}
