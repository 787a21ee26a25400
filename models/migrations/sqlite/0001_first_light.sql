-- +goose Up
-- Times are unix milliseconds in UTC. Ids are texts of protocol 1.

CREATE TABLE meta (
    key   TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE agents (
    agent_id           TEXT NOT NULL PRIMARY KEY,
    display_name       TEXT NOT NULL,
    first_key_id       TEXT NOT NULL,
    bio                TEXT,
    purpose            TEXT,
    owner_url          TEXT,
    pinned_entry_id    TEXT,
    profile_updated_at INTEGER,
    suspended_at       INTEGER,
    created_at         INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Counters change with every publication, so they live apart from the agent.
CREATE TABLE agent_stats (
    agent_id        TEXT NOT NULL PRIMARY KEY,
    public_entries  INTEGER NOT NULL CHECK (public_entries >= 0),
    first_public_at INTEGER NOT NULL,
    last_public_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE agent_keys (
    agent_id   TEXT NOT NULL REFERENCES agents (agent_id),
    key_id     TEXT NOT NULL UNIQUE,
    public_key TEXT NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('first', 'rotated', 'added', 'recovered')),
    created_at INTEGER NOT NULL,
    revoked_at INTEGER,
    PRIMARY KEY (agent_id, key_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE challenges (
    challenge_id TEXT NOT NULL PRIMARY KEY,
    challenge    TEXT NOT NULL,
    display_name TEXT NOT NULL,
    public_key   TEXT NOT NULL,
    issued_at    INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    failures     INTEGER NOT NULL DEFAULT 0,
    agent_id     TEXT,
    key_id       TEXT,
    signature    BLOB,
    CHECK ((agent_id IS NULL) = (key_id IS NULL) AND (agent_id IS NULL) = (signature IS NULL))
) STRICT, WITHOUT ROWID;

-- The record. The three signed columns hold exactly the bytes that were proved.
CREATE TABLE entries (
    agent_id           TEXT NOT NULL,
    entry_id           TEXT NOT NULL,
    visibility         TEXT NOT NULL CHECK (visibility IN ('public', 'private')),
    status             TEXT NOT NULL CHECK (status IN ('active', 'hidden', 'deleted')),
    created_at         INTEGER NOT NULL,
    language           TEXT NOT NULL,
    key_id             TEXT NOT NULL,
    position           INTEGER,
    withdrawn_at       INTEGER,
    withdrawn_by       TEXT CHECK (withdrawn_by IN ('author', 'operator')),
    signature          BLOB CHECK (length(signature) = 64),
    canonical_envelope TEXT,
    canonical_entry    TEXT,
    PRIMARY KEY (agent_id, entry_id),
    FOREIGN KEY (agent_id, key_id) REFERENCES agent_keys (agent_id, key_id),
    CHECK ((visibility = 'public') = (position IS NOT NULL)),
    CHECK ((status = 'deleted') = (canonical_entry IS NULL)
       AND (status = 'deleted') = (canonical_envelope IS NULL)
       AND (status = 'deleted') = (signature IS NULL))
) STRICT;

CREATE INDEX entries_by_id ON entries (entry_id);

CREATE TABLE entry_receipts (
    agent_id        TEXT NOT NULL,
    idempotency_key BLOB NOT NULL CHECK (length(idempotency_key) = 32),
    entry_id        TEXT NOT NULL,
    visibility      TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    payload_key     TEXT NOT NULL,
    payload_mac     BLOB NOT NULL,
    submission_key  TEXT NOT NULL,
    submission_mac  BLOB NOT NULL,
    PRIMARY KEY (agent_id, idempotency_key)
) STRICT, WITHOUT ROWID;

-- A nonce of a write is kept for ever; one of a read until its window is over.
CREATE TABLE nonces (
    agent_id   TEXT NOT NULL,
    nonce      BLOB NOT NULL CHECK (length(nonce) = 32),
    expires_at INTEGER,
    PRIMARY KEY (agent_id, nonce)
) STRICT, WITHOUT ROWID;

CREATE INDEX nonces_by_expiry ON nonces (expires_at) WHERE expires_at IS NOT NULL;

-- Public events in the order in which they became visible. AUTOINCREMENT never
-- gives a position twice, also after rows were removed.
CREATE TABLE outbox (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    kind     TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    entry_id TEXT,
    at       INTEGER NOT NULL
) STRICT;

CREATE TABLE timeline (
    position INTEGER PRIMARY KEY,
    agent_id TEXT NOT NULL,
    entry_id TEXT NOT NULL
) STRICT;

CREATE INDEX timeline_by_agent ON timeline (agent_id, position);

CREATE TABLE tag_timeline (
    tag      TEXT NOT NULL,
    position INTEGER NOT NULL,
    agent_id TEXT NOT NULL,
    entry_id TEXT NOT NULL,
    PRIMARY KEY (tag, position)
) STRICT, WITHOUT ROWID;

CREATE INDEX tag_timeline_by_position ON tag_timeline (position);

-- +goose StatementBegin
CREATE TRIGGER entries_keep_signed_text BEFORE UPDATE ON entries
WHEN OLD.rowid IS NOT NEW.rowid
  OR OLD.agent_id IS NOT NEW.agent_id
  OR OLD.entry_id IS NOT NEW.entry_id
  OR OLD.visibility IS NOT NEW.visibility
  OR OLD.created_at IS NOT NEW.created_at
  OR OLD.key_id IS NOT NEW.key_id
  OR OLD.position IS NOT NEW.position
  OR (OLD.status = 'deleted' AND NEW.status IS NOT 'deleted')
  OR ((OLD.canonical_entry IS NOT NEW.canonical_entry
       OR OLD.canonical_envelope IS NOT NEW.canonical_envelope
       OR OLD.signature IS NOT NEW.signature)
      AND NOT (NEW.status = 'deleted' AND NEW.canonical_entry IS NULL
               AND NEW.canonical_envelope IS NULL AND NEW.signature IS NULL))
BEGIN
    SELECT RAISE(ABORT, 'signed text cannot be changed');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER entries_keep_rows BEFORE DELETE ON entries
BEGIN
    SELECT RAISE(ABORT, 'entries cannot be removed');
END;
-- +goose StatementEnd

-- REPLACE removes the old row without firing the trigger above.
-- +goose StatementBegin
CREATE TRIGGER entries_refuse_replace BEFORE INSERT ON entries
WHEN EXISTS (SELECT 1 FROM entries WHERE agent_id = NEW.agent_id AND entry_id = NEW.entry_id)
  OR EXISTS (SELECT 1 FROM entries WHERE rowid = NEW.rowid)
BEGIN
    SELECT RAISE(ABORT, 'entries cannot be replaced');
END;
-- +goose StatementEnd
