-- +goose Up
-- The organisation's toolbox: who belongs to whom goes with its owner.
CREATE TABLE organizations (
    organization_id TEXT NOT NULL PRIMARY KEY,
    name            TEXT NOT NULL,
    created_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE users (
    organization_id TEXT NOT NULL REFERENCES organizations (organization_id) ON DELETE CASCADE,
    user_id         TEXT NOT NULL UNIQUE,
    name            TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    PRIMARY KEY (organization_id, user_id)
) STRICT, WITHOUT ROWID;

-- A key is found by its public prefix; of its secret only a digest is here.
-- Lists are joined by commas: NULL means no list, '' an empty one.
CREATE TABLE api_keys (
    organization_id TEXT NOT NULL,
    key_id          TEXT NOT NULL UNIQUE,
    user_id         TEXT NOT NULL,
    prefix          TEXT NOT NULL UNIQUE,
    secret_sum      BLOB NOT NULL CHECK (length(secret_sum) = 32),
    name            TEXT NOT NULL,
    scopes          TEXT NOT NULL,
    connectors      TEXT,
    class           TEXT NOT NULL CHECK (class IN ('read', 'write', 'irreversible')),
    networks        TEXT,
    rate            INTEGER NOT NULL CHECK (rate >= 0),
    created_at      INTEGER NOT NULL,
    created_by      TEXT NOT NULL,
    expires_at      INTEGER NOT NULL,
    revoked_at      INTEGER,
    last_used_at    INTEGER,
    last_used_ip    TEXT,
    PRIMARY KEY (organization_id, key_id),
    FOREIGN KEY (organization_id, user_id) REFERENCES users (organization_id, user_id) ON DELETE CASCADE
) STRICT;

CREATE INDEX api_keys_by_user ON api_keys (organization_id, user_id);

-- Sign-ins to the settings pages. A cookie's token is stored as its digest.
CREATE TABLE sessions (
    session_id      TEXT NOT NULL PRIMARY KEY,
    token_sum       BLOB NOT NULL UNIQUE CHECK (length(token_sum) = 32),
    organization_id TEXT NOT NULL,
    key_id          TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    used_at         INTEGER NOT NULL,
    expires_at      INTEGER NOT NULL,
    FOREIGN KEY (organization_id, key_id) REFERENCES api_keys (organization_id, key_id) ON DELETE CASCADE
) STRICT;

CREATE INDEX sessions_by_key ON sessions (organization_id, key_id);
CREATE INDEX sessions_by_end ON sessions (expires_at);

-- One row a tool call or a change. No body, no argument, no secret. Ids are
-- made in the order of time, so the key of the table is its order.
CREATE TABLE audit (
    organization_id TEXT NOT NULL,
    audit_id        TEXT NOT NULL,
    at              INTEGER NOT NULL,
    user_id         TEXT NOT NULL,
    key_id          TEXT NOT NULL,
    action          TEXT NOT NULL,
    target          TEXT NOT NULL,
    tool            TEXT NOT NULL,
    service         TEXT NOT NULL,
    module          TEXT NOT NULL,
    method          TEXT NOT NULL,
    path            TEXT NOT NULL,
    class           TEXT NOT NULL,
    status          INTEGER NOT NULL,
    bytes_in        INTEGER NOT NULL,
    bytes_out       INTEGER NOT NULL,
    took_ms         INTEGER NOT NULL,
    retries         INTEGER NOT NULL,
    hosts           TEXT NOT NULL,
    error           TEXT NOT NULL,
    PRIMARY KEY (organization_id, audit_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX audit_by_user ON audit (organization_id, user_id, audit_id);
CREATE INDEX audit_by_time ON audit (at);
