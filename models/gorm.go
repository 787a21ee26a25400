package models

import (
	"context"
	"database/sql"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// newConn connects once and puts GORM on the pool.
func newConn(ctx context.Context, db *sql.DB, dialect gorm.Dialector, e engine, o Options) (*conn, error) {
	c := &conn{db: db, engine: e, observe: o.Observe, statements: map[string]statement{}}
	if err := db.PingContext(ctx); err != nil {
		_ = db.Close() // the first error says more
		return nil, err
	}
	g, err := gorm.Open(dialect, &gorm.Config{
		SkipDefaultTransaction: true,
		PrepareStmt:            true,
		TranslateError:         true,
		DisableAutomaticPing:   true,
		Logger:                 quiet{observe: o.Observe},
	})
	if err != nil {
		_ = db.Close() // the first error says more
		return nil, err
	}
	c.gorm = g
	return c, nil
}

// quiet is a logger for GORM that prints nothing: errors are returned, and the
// values of a statement are nobody's business. It only tells the observer.
type quiet struct{ observe func(string) }

func (q quiet) LogMode(logger.LogLevel) logger.Interface { return q }
func (quiet) Info(context.Context, string, ...any)       {}
func (quiet) Warn(context.Context, string, ...any)       {}
func (quiet) Error(context.Context, string, ...any)      {}

func (q quiet) Trace(_ context.Context, _ time.Time, statement func() (string, int64), _ error) {
	if q.observe != nil {
		text, _ := statement()
		q.observe(text)
	}
}

// ParamsFilter keeps the values out of the text that Trace gets.
func (quiet) ParamsFilter(_ context.Context, sql string, _ ...any) (string, []any) { return sql, nil }
