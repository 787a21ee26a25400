package models

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"innerloop/models/migrations"
)

// versionTable is the sign that a database is ours.
const versionTable = "innerloop_schema"

// Migrate brings the schema up to date. Processes that start together do it
// one after the other.
func (s *Store) Migrate(ctx context.Context) error { return s.prepareSchema(ctx, true) }

// Migrated returns nil when the schema is the one this program knows,
// ErrNotMigrated when it is older and ErrNewerSchema when it is newer.
func (s *Store) Migrated(ctx context.Context) error {
	current, err := s.schemaVersion(ctx)
	if err != nil {
		return err
	}
	latest, err := s.latestVersion()
	switch {
	case err != nil:
		return err
	case current < latest:
		return ErrNotMigrated
	case current > latest:
		return ErrNewerSchema
	}
	return nil
}

func (s *Store) prepareSchema(ctx context.Context, migrate bool) error {
	err := s.Migrated(ctx)
	if !errors.Is(err, ErrNotMigrated) || !migrate {
		if errors.Is(err, ErrNotMigrated) {
			return nil // Migrated tells, for who asks whether we are ready
		}
		return err
	}
	before, err := s.schemaVersion(ctx)
	if err != nil {
		return err
	}
	s.log.InfoContext(ctx, "migrating the database; a large journal takes minutes", "engine", s.engine.name, "from", before)
	began := time.Now()
	// On SQLite each step is an immediate transaction of its own. A process
	// that waited for it and then finds the step done fails, looks again, and
	// goes on from there.
	for {
		failure := s.migrateUp(ctx)
		after, err := s.schemaVersion(ctx)
		switch {
		case err != nil:
			return err
		case failure == nil:
			s.log.InfoContext(ctx, "migrated the database", "to", after, "took", time.Since(began).Round(time.Millisecond))
			return s.Migrated(ctx)
		case after <= before && !lost(failure):
			return fmt.Errorf("migrate: %w", failure)
		case ctx.Err() != nil:
			return fmt.Errorf("migrate: %w", ctx.Err())
		}
		before = after
	}
}

func (s *Store) migrateUp(ctx context.Context) error {
	db, dialect := s.write.db, goose.DialectSQLite3
	var options []goose.ProviderOption
	if s.engine.name == postgresEngine.name {
		config, err := pgx.ParseConfig(s.direct)
		if err != nil {
			return ErrDatabaseURL
		}
		db, dialect = stdlib.OpenDB(*config), goose.DialectPostgres
		defer func() { _ = db.Close() }() // nothing of it is in use any more
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return err
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	provider, err := s.provider(dialect, db, options...)
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

func (s *Store) provider(dialect goose.Dialect, db *sql.DB, options ...goose.ProviderOption) (*goose.Provider, error) {
	files, err := fs.Sub(migrations.Files, s.engine.name)
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(dialect, db, files, append(options,
		goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))...)
}

func (s *Store) latestVersion() (int64, error) {
	dialect := goose.DialectSQLite3
	if s.engine.name == postgresEngine.name {
		dialect = goose.DialectPostgres
	}
	provider, err := s.provider(dialect, s.write.db)
	if err != nil {
		return 0, fmt.Errorf("read migrations: %w", err)
	}
	sources := provider.ListSources()
	return sources[len(sources)-1].Version, nil
}

// schemaVersion returns 0 for an empty database and ErrForeignDatabase for one
// that holds tables but not our version table.
func (s *Store) schemaVersion(ctx context.Context) (int64, error) {
	ours, others := false, false
	err := each(s.write, ctx, s.engine.tables, nil, func(rows *sql.Rows) error {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		ours, others = ours || name == versionTable, others || name != versionTable
		return nil
	})
	switch {
	case err != nil:
		return 0, fmt.Errorf("list tables: %w", err)
	case !ours && others:
		return 0, ErrForeignDatabase
	case !ours:
		return 0, nil
	}
	var version int64
	_, err = s.write.one(ctx, `SELECT coalesce(max(version_id), 0) FROM `+versionTable+` WHERE is_applied`, nil, &version)
	if err != nil {
		return 0, fmt.Errorf("read schema version: %w", err)
	}
	return version, nil
}
