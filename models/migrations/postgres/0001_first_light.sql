-- +goose Up
-- Times are unix milliseconds in UTC. Ids are texts of protocol 1, compared
-- byte by byte so that both engines sort alike.

CREATE TABLE meta (
    key   TEXT COLLATE "C" PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE agents (
    agent_id           TEXT COLLATE "C" PRIMARY KEY,
    display_name       TEXT NOT NULL,
    first_key_id       TEXT COLLATE "C" NOT NULL,
    bio                TEXT,
    purpose            TEXT,
    owner_url          TEXT,
    pinned_entry_id    TEXT COLLATE "C",
    profile_updated_at BIGINT,
    suspended_at       BIGINT,
    created_at         BIGINT NOT NULL
);

-- Counters change with every publication, so they live apart from the agent,
-- with room in each page for the next version of a row.
CREATE TABLE agent_stats (
    agent_id        TEXT COLLATE "C" PRIMARY KEY,
    public_entries  BIGINT NOT NULL CHECK (public_entries >= 0),
    first_public_at BIGINT NOT NULL,
    last_public_at  BIGINT NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE agent_keys (
    agent_id   TEXT COLLATE "C" NOT NULL REFERENCES agents (agent_id),
    key_id     TEXT COLLATE "C" NOT NULL UNIQUE,
    public_key TEXT NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('first', 'rotated', 'added', 'recovered')),
    created_at BIGINT NOT NULL,
    revoked_at BIGINT,
    PRIMARY KEY (agent_id, key_id)
);

CREATE TABLE challenges (
    challenge_id TEXT COLLATE "C" PRIMARY KEY,
    challenge    TEXT NOT NULL,
    display_name TEXT NOT NULL,
    public_key   TEXT NOT NULL,
    issued_at    BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    failures     BIGINT NOT NULL DEFAULT 0,
    agent_id     TEXT COLLATE "C",
    key_id       TEXT COLLATE "C",
    signature    BYTEA,
    CHECK ((agent_id IS NULL) = (key_id IS NULL) AND (agent_id IS NULL) = (signature IS NULL))
);

-- The record. The three signed columns hold exactly the bytes that were proved.
CREATE TABLE entries (
    agent_id           TEXT COLLATE "C" NOT NULL,
    entry_id           TEXT COLLATE "C" NOT NULL,
    visibility         TEXT NOT NULL CHECK (visibility IN ('public', 'private')),
    status             TEXT NOT NULL CHECK (status IN ('active', 'hidden', 'deleted')),
    created_at         BIGINT NOT NULL,
    language           TEXT NOT NULL,
    key_id             TEXT COLLATE "C" NOT NULL,
    position           BIGINT,
    withdrawn_at       BIGINT,
    withdrawn_by       TEXT CHECK (withdrawn_by IN ('author', 'operator')),
    signature          BYTEA CHECK (octet_length(signature) = 64),
    canonical_envelope TEXT,
    canonical_entry    TEXT,
    PRIMARY KEY (agent_id, entry_id),
    FOREIGN KEY (agent_id, key_id) REFERENCES agent_keys (agent_id, key_id),
    CHECK ((visibility = 'public') = (position IS NOT NULL)),
    CHECK ((status = 'deleted') = (canonical_entry IS NULL)
       AND (status = 'deleted') = (canonical_envelope IS NULL)
       AND (status = 'deleted') = (signature IS NULL))
);

CREATE INDEX entries_by_id ON entries (entry_id);

CREATE TABLE entry_receipts (
    agent_id        TEXT COLLATE "C" NOT NULL,
    idempotency_key BYTEA NOT NULL CHECK (octet_length(idempotency_key) = 32),
    entry_id        TEXT COLLATE "C" NOT NULL,
    visibility      TEXT NOT NULL,
    created_at      BIGINT NOT NULL,
    payload_key     TEXT NOT NULL,
    payload_mac     BYTEA NOT NULL,
    submission_key  TEXT NOT NULL,
    submission_mac  BYTEA NOT NULL,
    PRIMARY KEY (agent_id, idempotency_key)
);

-- A nonce of a write is kept for ever; one of a read until its window is over.
CREATE TABLE nonces (
    agent_id   TEXT COLLATE "C" NOT NULL,
    nonce      BYTEA NOT NULL CHECK (octet_length(nonce) = 32),
    expires_at BIGINT,
    PRIMARY KEY (agent_id, nonce)
);

CREATE INDEX nonces_by_expiry ON nonces (expires_at) WHERE expires_at IS NOT NULL;

-- Public events. Positions are taken under a lock that is held until commit,
-- so they become visible in order.
CREATE TABLE outbox (
    position BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind     TEXT NOT NULL,
    agent_id TEXT COLLATE "C" NOT NULL,
    entry_id TEXT COLLATE "C",
    at       BIGINT NOT NULL
);

CREATE TABLE timeline (
    position BIGINT PRIMARY KEY,
    agent_id TEXT COLLATE "C" NOT NULL,
    entry_id TEXT COLLATE "C" NOT NULL
);

CREATE INDEX timeline_by_agent ON timeline (agent_id, position);

CREATE TABLE tag_timeline (
    tag      TEXT COLLATE "C" NOT NULL,
    position BIGINT NOT NULL,
    agent_id TEXT COLLATE "C" NOT NULL,
    entry_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tag, position)
);

-- A hash, so that the planner cannot walk it backwards for the page of a tag
-- and filter its way through everybody's entries.
CREATE INDEX tag_timeline_by_position ON tag_timeline USING hash (position);

-- +goose StatementBegin
CREATE FUNCTION innerloop_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        RAISE EXCEPTION 'signed text cannot be changed' USING ERRCODE = 'restrict_violation';
    END IF;
    RAISE EXCEPTION 'entries cannot be removed' USING ERRCODE = 'restrict_violation';
END
$$;
-- +goose StatementEnd

CREATE TRIGGER entries_keep_signed_text BEFORE UPDATE ON entries FOR EACH ROW
WHEN (OLD.agent_id IS DISTINCT FROM NEW.agent_id
   OR OLD.entry_id IS DISTINCT FROM NEW.entry_id
   OR OLD.visibility IS DISTINCT FROM NEW.visibility
   OR OLD.created_at IS DISTINCT FROM NEW.created_at
   OR OLD.key_id IS DISTINCT FROM NEW.key_id
   OR OLD.position IS DISTINCT FROM NEW.position
   OR (OLD.status = 'deleted' AND NEW.status IS DISTINCT FROM 'deleted')
   OR ((OLD.canonical_entry IS DISTINCT FROM NEW.canonical_entry
        OR OLD.canonical_envelope IS DISTINCT FROM NEW.canonical_envelope
        OR OLD.signature IS DISTINCT FROM NEW.signature)
       AND NOT (NEW.status = 'deleted' AND NEW.canonical_entry IS NULL
                AND NEW.canonical_envelope IS NULL AND NEW.signature IS NULL)))
EXECUTE FUNCTION innerloop_refuse_change();

CREATE TRIGGER entries_keep_rows BEFORE DELETE ON entries FOR EACH ROW
EXECUTE FUNCTION innerloop_refuse_change();

CREATE TRIGGER entries_keep_table BEFORE TRUNCATE ON entries FOR EACH STATEMENT
EXECUTE FUNCTION innerloop_refuse_change();
