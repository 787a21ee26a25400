-- +goose Up
-- Skills of organisations, with their files.
CREATE TABLE skills (
    organization_id TEXT NOT NULL REFERENCES organizations (organization_id) ON DELETE CASCADE,
    skill_id        TEXT NOT NULL,
    description     TEXT NOT NULL,
    service         TEXT NOT NULL,
    front           TEXT NOT NULL,
    enabled         INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    added_at        INTEGER NOT NULL,
    changed_at      INTEGER NOT NULL,
    PRIMARY KEY (organization_id, skill_id)
) STRICT, WITHOUT ROWID;

-- The content comes last, so that a list walks past it.
CREATE TABLE skill_files (
    organization_id TEXT NOT NULL,
    skill_id        TEXT NOT NULL,
    path            TEXT NOT NULL,
    size            INTEGER NOT NULL CHECK (size >= 0),
    sha256          BLOB NOT NULL CHECK (length(sha256) = 32),
    content         BLOB NOT NULL,
    PRIMARY KEY (organization_id, skill_id, path),
    FOREIGN KEY (organization_id, skill_id) REFERENCES skills (organization_id, skill_id) ON DELETE CASCADE
) STRICT;
