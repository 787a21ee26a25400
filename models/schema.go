package models

import "context"

// SchemaVersions returns the version the database is at, 0 for an empty one,
// and the newest that this program knows.
func (s *Store) SchemaVersions(ctx context.Context) (current, newest int64, err error) {
	if current, err = s.schemaVersion(ctx); err != nil {
		return 0, 0, err
	}
	newest, err = s.latestVersion()
	return current, newest, err
}
