package models

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
)

// publicOrderLock is the advisory lock under which public positions are taken.
// It is held until the transaction is visible, so a reader never sees a
// position before a lower one. The signal goes out when it commits.
const publicOrderLock = `SELECT pg_advisory_xact_lock(7522537965574647666), pg_notify('` + publicSignal + `', '')`

var postgresEngine = engine{
	name: "postgres", numbered: true, writers: 2,
	share: ` FOR SHARE`, own: ` FOR UPDATE`, order: publicOrderLock,
	join: postgresJoin, listed: postgresListed, record: postgresRecord, pages: postgresPages(), words: postgresWords,
	tables: `SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = current_schema()`,
}

func openPostgres(ctx context.Context, o Options) (*conn, error) {
	config, err := pgx.ParseConfig(o.URL)
	if err != nil {
		return nil, ErrDatabaseURL // the cause may quote the password
	}
	size := o.Readers
	if size == 0 {
		size = 16
	}
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return newConn(ctx, db, postgres.New(postgres.Config{Conn: db}), postgresEngine, o)
}
