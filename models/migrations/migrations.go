// Package migrations embeds the numbered SQL that builds the schema, one
// folder an engine, forward only. A file is never edited once released.
package migrations

import "embed"

// Files holds sqlite/*.sql and postgres/*.sql.
//
//go:embed sqlite/*.sql postgres/*.sql
var Files embed.FS
