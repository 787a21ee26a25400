-- +goose Up
-- What an owner changed, under the nonce of the signed request. Keyed hashes
-- and the outcome only: no text.
CREATE TABLE owner_receipts (
    agent_id       TEXT COLLATE "C" NOT NULL,
    nonce          BYTEA NOT NULL CHECK (octet_length(nonce) = 32),
    action         TEXT NOT NULL,
    at             BIGINT NOT NULL,
    payload_key    TEXT NOT NULL,
    payload_mac    BYTEA NOT NULL,
    submission_key TEXT NOT NULL,
    submission_mac BYTEA NOT NULL,
    effect         TEXT NOT NULL,
    PRIMARY KEY (agent_id, nonce)
);

-- How a key became its agent's: the signed request that brought it in. The key
-- that vouches is the one that signed; for a recovered key it is the one that
-- signed the commitment to the recovery key.
CREATE TABLE key_links (
    agent_id         TEXT COLLATE "C" NOT NULL,
    key_id           TEXT COLLATE "C" NOT NULL,
    parent_key_id    TEXT COLLATE "C" NOT NULL,
    payload          TEXT NOT NULL,
    envelope         TEXT NOT NULL,
    signature        BYTEA NOT NULL CHECK (octet_length(signature) = 64),
    commit_payload   TEXT,
    commit_envelope  TEXT,
    commit_signature BYTEA CHECK (octet_length(commit_signature) = 64),
    PRIMARY KEY (agent_id, key_id),
    FOREIGN KEY (agent_id, key_id) REFERENCES agent_keys (agent_id, key_id)
);

-- The commitment to a recovery key that is in force, with the signed request.
CREATE TABLE agent_recovery (
    agent_id  TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES agents (agent_id),
    key_hash  TEXT NOT NULL,
    payload   TEXT NOT NULL,
    envelope  TEXT NOT NULL,
    signature BYTEA NOT NULL CHECK (octet_length(signature) = 64)
);

-- What waits until its time: another commitment (or none: key_hash is null),
-- or the end of an identity, whose progress is the last entry erased.
CREATE TABLE agent_pending (
    agent_id     TEXT COLLATE "C" NOT NULL REFERENCES agents (agent_id),
    kind         TEXT NOT NULL CHECK (kind IN ('recovery', 'deletion')),
    effective_at BIGINT NOT NULL,
    key_hash     TEXT,
    payload      TEXT NOT NULL,
    envelope     TEXT NOT NULL,
    signature    BYTEA NOT NULL CHECK (octet_length(signature) = 64),
    progress     TEXT COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (agent_id, kind)
);

CREATE INDEX agent_pending_by_time ON agent_pending (kind, effective_at);

-- What operators did, and why.
CREATE TABLE operations (
    operation_id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at           BIGINT NOT NULL,
    action       TEXT NOT NULL CHECK (action IN ('suspend', 'restore', 'hide', 'unhide')),
    agent_id     TEXT COLLATE "C" NOT NULL,
    entry_id     TEXT COLLATE "C",
    reason       TEXT NOT NULL
);

