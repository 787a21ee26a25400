package models

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"innerloop/journal"
	"innerloop/seal"
)

// words is what differs between the two indexes of words.
type words struct {
	insert, row string // a row is a position and the words as write gives them
	remove      string // by positions
	stray       string // an entry that has a row and is not listed
	find        string // words as ask gives them, before, above, limit
	merge       string // pages at most; "": the engine does that by itself
	write       func(at int64, words []string) string
	ask         func(words []string, block int64, from, to int64) string
	stretches   []stretch // what each question covers; nil: all at once
}

// A stretch is a number of blocks, each of so many positions.
type stretch struct{ block, blocks int64 }

var sqliteWords = words{
	insert: `INSERT INTO search_index (rowid, words) VALUES `, row: `(?, ?)`,
	remove: `DELETE FROM search_index WHERE rowid IN `,
	stray: `SELECT o.entry_id FROM search_index i JOIN outbox o ON o.position = i.rowid
LEFT JOIN timeline t ON t.position = i.rowid WHERE t.position IS NULL LIMIT 1`,
	find:  `SELECT rowid FROM search_index WHERE search_index MATCH ? AND rowid < ? AND rowid > ? ORDER BY rowid DESC LIMIT ?`,
	merge: `INSERT INTO search_index (search_index, rank) VALUES ('merge', ?)`,
	write: func(_ int64, words []string) string { return strings.Join(words, " ") },
	ask:   func(words []string, _, _, _ int64) string { return quoted(words, `"`, ` AND `) },
}

// A GIN index knows no order: without more, the newest of a frequent word cost
// as much as all of them. So each row holds the numbers of its small and its
// large block of positions as words, and a question names the blocks of a
// stretch. The first stretch has the answer for a frequent word, the last for a
// rare one; none of them finds many more rows than it returns.
var postgresWords = words{
	insert: `INSERT INTO search_index (position, words) VALUES `, row: `(?, ?::tsvector)`,
	remove: `DELETE FROM search_index WHERE position IN `,
	stray: `SELECT o.entry_id FROM search_index i JOIN outbox o ON o.position = i.position
LEFT JOIN timeline t ON t.position = i.position WHERE t.position IS NULL LIMIT 1`,
	find: `SELECT * FROM innerloop_search(?::tsquery, ?, ?, ?)`,
	write: func(at int64, words []string) string {
		return quoted(slices.Concat(blocks(smallBlock, at, at), blocks(largeBlock, at, at), words), `'`, ` `)
	},
	ask: func(words []string, block, from, to int64) string {
		return quoted(words, `'`, ` & `) + ` & (` + quoted(blocks(block, from, to), `'`, ` | `) + `)`
	},
	stretches: []stretch{{smallBlock, 2}, {smallBlock, 32}, {largeBlock, 66}},
}

// How many positions share a block.
const (
	smallBlock = 1 << 8
	largeBlock = 1 << 14
)

func blocks(size, from, to int64) []string {
	var names []string
	for b := from / size; b <= to/size; b++ {
		names = append(names, "b"+strconv.FormatInt(size, 10)+"="+strconv.FormatInt(b, 10))
	}
	return names
}

// quoted joins words that have neither quotes nor backslashes in them: letters,
// digits, marks, hyphens and equals signs are all that SearchWords gives.
func quoted(words []string, quote, between string) string {
	return quote + strings.Join(words, quote+between+quote) + quote
}

// indexed is an entry on its way into the index of words.
type indexed struct {
	position int64
	words    []string
}

// index puts entries into the index, in the transaction that lists them.
func (t *transaction) index(ctx context.Context, rows []indexed) error {
	w := t.conn.engine.words
	for n := 0; len(rows) > 0; rows = rows[n:] {
		n = chunk(len(rows))
		args := make([]any, 0, 2*n)
		for _, r := range rows[:n] {
			args = append(args, r.position, w.write(r.position, r.words))
		}
		if _, err := t.exec(ctx, w.insert+strings.Repeat(w.row+", ", n-1)+w.row, args...); err != nil {
			return err
		}
	}
	return nil
}

// SearchPositions returns the positions of listed entries that have all the
// words, newest first.
func (s *Store) SearchPositions(ctx context.Context, q journal.Sought) ([]int64, error) {
	var found []int64
	w := s.engine.words
	for i, before := 0, q.Before; before > q.Above+1 && len(found) < q.Limit; i++ {
		above, block := q.Above, int64(0)
		if len(w.stretches) > 0 {
			s := w.stretches[min(i, len(w.stretches)-1)]
			block = s.block
			above = max(above, ((before-1)/block+1-s.blocks)*block-1)
		}
		asked := []any{w.ask(q.Words, block, above+1, before-1), before, above, q.Limit - len(found)}
		err := each(s.read, ctx, w.find, asked, func(rows *sql.Rows) error {
			var at int64
			err := rows.Scan(&at)
			found = append(found, at)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("ask the index of words: %w", err)
		}
		before = above + 1
	}
	return found, nil
}

// EntriesAt returns the active public entries at positions, newest first, in
// one statement.
func (s *Store) EntriesAt(ctx context.Context, positions []int64) ([]journal.PublicEntry, error) {
	if len(positions) == 0 {
		return nil, nil
	}
	// Filled up to a power of two, so that there are few statements.
	args := make([]any, 0, 2*len(positions))
	for _, p := range positions {
		args = append(args, p)
	}
	for len(args)&(len(args)-1) != 0 {
		args = append(args, args[0])
	}
	page := make([]journal.PublicEntry, 0, len(positions))
	err := each(s.read, ctx, fromTimeline+s.engine.join+` WHERE t.position IN (`+marks(len(args))+`)`, args, func(rows *sql.Rows) error {
		e, err := scanEntry(rows)
		page = append(page, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read found entries: %w", err)
	}
	slices.SortFunc(page, func(a, b journal.PublicEntry) int { return int(b.Position - a.Position) })
	return page, nil
}

// SearchIsWhole tells whether every listed entry is in the index; once it is,
// it stays so.
func (s *Store) SearchIsWhole(ctx context.Context) (bool, error) {
	if s.whole.Load() {
		return true, nil
	}
	var whole bool
	_, err := s.read.one(ctx, `SELECT version >= ? AND below = 0 FROM search_state`, []any{journal.SearchVersion}, &whole)
	if err != nil {
		return false, fmt.Errorf("read the state of the index of words: %w", err)
	}
	if whole {
		s.whole.Store(true)
	}
	return whole, nil
}

// IndexEntries puts at most limit more listed entries into the index.
func (s *Store) IndexEntries(ctx context.Context, limit int) (n int, more bool, err error) {
	if whole, err := s.SearchIsWhole(ctx); err != nil || whole {
		return 0, false, err
	}
	err = s.retry(ctx, "index entries", func() error {
		return s.write.inTransaction(ctx, func(tx *transaction) (err error) {
			// Under the lock nothing is listed or taken out meanwhile.
			if err := (&events{tx: tx}).lock(ctx); err != nil {
				return err
			}
			n, more, err = indexStep(ctx, tx, limit, &s.stems)
			return err
		})
	})
	return n, more, err
}

// mergePages is how many pages one transaction of TidySearch writes, of 4 KiB
// each.
const mergePages = 64

// TidySearch merges segments of the index of words, of which every transaction
// leaves one and every question opens all.
func (s *Store) TidySearch(ctx context.Context) (more bool, err error) {
	merge := s.engine.words.merge
	if merge == "" {
		return false, nil
	}
	err = s.retry(ctx, "tidy the index of words", func() error {
		return s.write.inTransaction(ctx, func(tx *transaction) error {
			var before, after int64
			if _, err := first(tx, ctx, `SELECT total_changes()`, nil, &before); err != nil {
				return err
			}
			if _, err := tx.exec(ctx, merge, mergePages); err != nil {
				return err
			}
			_, err := first(tx, ctx, `SELECT total_changes()`, nil, &after)
			more = after-before > 1 // the statement itself counts as one
			return err
		})
	})
	return more, err
}

func indexStep(ctx context.Context, tx *transaction, limit int, stems *journal.Stems) (n int, more bool, err error) {
	var version, below int64
	if _, err := first(tx, ctx, `SELECT version, below FROM search_state`, nil, &version, &below); err != nil {
		return 0, false, err
	}
	if version < journal.SearchVersion {
		version = journal.SearchVersion
		if _, err := first(tx, ctx, `SELECT coalesce(max(position) + 1, 0) FROM timeline`, nil, &below); err != nil {
			return 0, false, err
		}
	}
	var rows []indexed
	var positions []any
	err = each(tx, ctx, `SELECT t.position, t.agent_id, t.language, e.created_at, e.canonical_entry FROM timeline t`+tx.conn.engine.record+`
WHERE t.position < ? ORDER BY t.position DESC LIMIT ?`, []any{below, limit}, func(r *sql.Rows) error {
		var at, created int64
		var agent journal.AgentID
		var language string
		var canonical []byte
		if err := r.Scan(&at, &agent, &language, &created, &canonical); err != nil {
			return err
		}
		positions = append(positions, at)
		entry, err := seal.ParseEntry(canonical)
		if err != nil {
			return nil // verification finds it; it must not end the index of the others
		}
		rows = append(rows, indexed{at, stems.SearchWords(entry, agent, language, fromMillis(created))})
		return nil
	})
	if err != nil {
		return 0, false, err
	}
	// Some may be there: by other rules, or unhidden while the index was built.
	if err := tx.removeAt(ctx, tx.conn.engine.words.remove, positions); err != nil {
		return 0, false, err
	}
	if err := tx.index(ctx, rows); err != nil {
		return 0, false, err
	}
	below = 0
	if len(positions) == limit {
		below = positions[limit-1].(int64)
	}
	_, err = tx.exec(ctx, `UPDATE search_state SET version = ?, below = ?`, version, below)
	return len(positions), below > 0, err
}

// removeAt runs a statement that ends with a list of positions.
func (t *transaction) removeAt(ctx context.Context, statement string, positions []any) error {
	for start, n := 0, 0; start < len(positions); start += n {
		n = chunk(len(positions) - start)
		if _, err := t.exec(ctx, statement+`(`+marks(n)+`)`, positions[start:start+n]...); err != nil {
			return err
		}
	}
	return nil
}
