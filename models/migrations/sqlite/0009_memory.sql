-- +goose Up
-- Files of users. Contents lie apart, so that a list reads none of them.
CREATE TABLE memory_files (
    organization_id TEXT NOT NULL,
    user_id         TEXT NOT NULL,
    path            TEXT NOT NULL,
    folded          TEXT NOT NULL,
    size            INTEGER NOT NULL CHECK (size >= 0),
    sha256          BLOB NOT NULL CHECK (length(sha256) = 32),
    updated_at      INTEGER NOT NULL,
    PRIMARY KEY (organization_id, user_id, path),
    FOREIGN KEY (organization_id, user_id) REFERENCES users (organization_id, user_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE memory_contents (
    organization_id TEXT NOT NULL,
    user_id         TEXT NOT NULL,
    path            TEXT NOT NULL,
    content         BLOB NOT NULL,
    PRIMARY KEY (organization_id, user_id, path),
    FOREIGN KEY (organization_id, user_id, path) REFERENCES memory_files (organization_id, user_id, path) ON DELETE CASCADE
) STRICT;

-- What a user's files come to, so that a quota costs one row.
CREATE TABLE memory_usage (
    organization_id TEXT NOT NULL,
    user_id         TEXT NOT NULL,
    files           INTEGER NOT NULL CHECK (files >= 0),
    bytes           INTEGER NOT NULL CHECK (bytes >= 0),
    PRIMARY KEY (organization_id, user_id),
    FOREIGN KEY (organization_id, user_id) REFERENCES users (organization_id, user_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
