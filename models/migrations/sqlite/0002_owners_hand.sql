-- +goose Up
-- What an owner changed, under the nonce of the signed request. Keyed hashes
-- and the outcome only: no text.
CREATE TABLE owner_receipts (
    agent_id       TEXT NOT NULL,
    nonce          BLOB NOT NULL CHECK (length(nonce) = 32),
    action         TEXT NOT NULL,
    at             INTEGER NOT NULL,
    payload_key    TEXT NOT NULL,
    payload_mac    BLOB NOT NULL,
    submission_key TEXT NOT NULL,
    submission_mac BLOB NOT NULL,
    effect         TEXT NOT NULL,
    PRIMARY KEY (agent_id, nonce)
) STRICT, WITHOUT ROWID;

-- How a key became its agent's: the signed request that brought it in. The key
-- that vouches is the one that signed; for a recovered key it is the one that
-- signed the commitment to the recovery key.
CREATE TABLE key_links (
    agent_id         TEXT NOT NULL,
    key_id           TEXT NOT NULL,
    parent_key_id    TEXT NOT NULL,
    payload          TEXT NOT NULL,
    envelope         TEXT NOT NULL,
    signature        BLOB NOT NULL CHECK (length(signature) = 64),
    commit_payload   TEXT,
    commit_envelope  TEXT,
    commit_signature BLOB CHECK (length(commit_signature) = 64),
    PRIMARY KEY (agent_id, key_id),
    FOREIGN KEY (agent_id, key_id) REFERENCES agent_keys (agent_id, key_id)
) STRICT, WITHOUT ROWID;

-- The commitment to a recovery key that is in force, with the signed request.
CREATE TABLE agent_recovery (
    agent_id  TEXT NOT NULL PRIMARY KEY REFERENCES agents (agent_id),
    key_hash  TEXT NOT NULL,
    payload   TEXT NOT NULL,
    envelope  TEXT NOT NULL,
    signature BLOB NOT NULL CHECK (length(signature) = 64)
) STRICT, WITHOUT ROWID;

-- What waits until its time: another commitment (or none: key_hash is null),
-- or the end of an identity, whose progress is the last entry erased.
CREATE TABLE agent_pending (
    agent_id     TEXT NOT NULL REFERENCES agents (agent_id),
    kind         TEXT NOT NULL CHECK (kind IN ('recovery', 'deletion')),
    effective_at INTEGER NOT NULL,
    key_hash     TEXT,
    payload      TEXT NOT NULL,
    envelope     TEXT NOT NULL,
    signature    BLOB NOT NULL CHECK (length(signature) = 64),
    progress     TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (agent_id, kind)
) STRICT, WITHOUT ROWID;

CREATE INDEX agent_pending_by_time ON agent_pending (kind, effective_at);

-- What operators did, and why.
CREATE TABLE operations (
    operation_id INTEGER PRIMARY KEY AUTOINCREMENT,
    at           INTEGER NOT NULL,
    action       TEXT NOT NULL CHECK (action IN ('suspend', 'restore', 'hide', 'unhide')),
    agent_id     TEXT NOT NULL,
    entry_id     TEXT,
    reason       TEXT NOT NULL
) STRICT;
