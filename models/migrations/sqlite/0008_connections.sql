-- +goose Up
-- Credentials that organisations entrust to the service. Every field is sealed
-- under the organisation's data key, which is here only wrapped under the
-- master key that is named beside it.
CREATE TABLE vault_keys (
    organization_id TEXT NOT NULL PRIMARY KEY REFERENCES organizations (organization_id) ON DELETE CASCADE,
    master          TEXT NOT NULL,
    wrapped         BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- A connection without a user is every user's of the organisation.
CREATE TABLE connections (
    organization_id TEXT NOT NULL REFERENCES organizations (organization_id) ON DELETE CASCADE,
    connection_id   TEXT NOT NULL UNIQUE,
    user_id         TEXT,
    service         TEXT NOT NULL,
    name            TEXT NOT NULL,
    auth            TEXT NOT NULL,
    base_url        TEXT NOT NULL,
    test            INTEGER NOT NULL CHECK (test IN (0, 1)),
    state           TEXT NOT NULL CHECK (state IN ('connected', 'reconnect')),
    version         INTEGER NOT NULL CHECK (version > 0),
    created_at      INTEGER NOT NULL,
    changed_at      INTEGER NOT NULL,
    checked_at      INTEGER,
    PRIMARY KEY (organization_id, connection_id),
    FOREIGN KEY (organization_id, user_id) REFERENCES users (organization_id, user_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX connections_by_name ON connections (organization_id, service, name, COALESCE(user_id, ''));
CREATE INDEX connections_by_user ON connections (organization_id, user_id);

CREATE TABLE connection_values (
    organization_id TEXT NOT NULL,
    connection_id   TEXT NOT NULL,
    kind            TEXT NOT NULL CHECK (kind IN ('field', 'param')),
    name            TEXT NOT NULL,
    sealed          BLOB,
    plain           TEXT,
    tail            TEXT NOT NULL,
    PRIMARY KEY (organization_id, connection_id, kind, name),
    FOREIGN KEY (organization_id, connection_id) REFERENCES connections (organization_id, connection_id) ON DELETE CASCADE,
    CHECK ((kind = 'field') = (sealed IS NOT NULL) AND (kind = 'param') = (plain IS NOT NULL))
) STRICT, WITHOUT ROWID;

-- Networks that connections with an address of their own may lead into.
CREATE TABLE organization_networks (
    organization_id TEXT NOT NULL REFERENCES organizations (organization_id) ON DELETE CASCADE,
    network         TEXT NOT NULL,
    PRIMARY KEY (organization_id, network)
) STRICT, WITHOUT ROWID;

CREATE TABLE organization_settings (
    organization_id  TEXT NOT NULL PRIMARY KEY REFERENCES organizations (organization_id) ON DELETE CASCADE,
    must_confirm     INTEGER NOT NULL CHECK (must_confirm IN (0, 1)),
    broker_only      INTEGER NOT NULL CHECK (broker_only IN (0, 1)),
    all_when_unnamed INTEGER NOT NULL CHECK (all_when_unnamed IN (0, 1))
) STRICT, WITHOUT ROWID;
