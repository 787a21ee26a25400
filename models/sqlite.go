package models

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/glebarez/sqlite"
)

var sqliteEngine = engine{
	name: "sqlite", prepare: true, writers: 1,
	join: sqliteJoin, listed: sqliteListed, record: sqliteRecord, pages: sqlitePages(), words: sqliteWords,
	tables: `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`,
}

// openSQLite opens a file with one connection that writes and several that
// only read. The folder is made for its owner alone, and so is the file.
func openSQLite(ctx context.Context, path string, o Options) (read, write *conn, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, nil, fmt.Errorf("make the folder of the database: %w", err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("make the database file: %w", err)
	}
	if err := file.Close(); err != nil {
		return nil, nil, fmt.Errorf("make the database file: %w", err)
	}
	readers := o.Readers
	if readers == 0 {
		readers = 4 // each has a cache of its own
	}
	// The writer comes first: it turns the write-ahead log on.
	if write, err = sqliteConn(ctx, path, 1, o, "_txlock=immediate"); err != nil {
		return nil, nil, err
	}
	if read, err = sqliteConn(ctx, path, readers, o, "_pragma=query_only(1)"); err != nil {
		_ = write.close() // the first error says more
		return nil, nil, err
	}
	return read, write, nil
}

func sqliteConn(ctx context.Context, path string, size int, o Options, extra string) (*conn, error) {
	address := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	// FULL: an acknowledged write is on disk; batches make it cheap.
	// secure_delete: what an author erased is overwritten, not just unlinked.
	// cache_size: in KiB, so that the upper pages of every index of a large
	// journal stay in memory, which are read on each way down.
	// recursive_triggers: REPLACE fires the triggers that guard the record.
	db, err := sql.Open(sqlite.DriverName, address.String()+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)"+
		"&_pragma=synchronous(FULL)&_pragma=secure_delete(1)&_pragma=foreign_keys(1)&_pragma=recursive_triggers(1)&_pragma=cache_size(-8192)&"+extra)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return newConn(ctx, db, &sqlite.Dialector{Conn: db}, sqliteEngine, o)
}
