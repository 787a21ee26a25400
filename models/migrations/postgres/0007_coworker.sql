-- +goose Up
-- The organisation's toolbox: who belongs to whom goes with its owner.
CREATE TABLE organizations (
    organization_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name            TEXT NOT NULL,
    created_at      BIGINT NOT NULL
);

CREATE TABLE users (
    organization_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (organization_id) ON DELETE CASCADE,
    user_id         TEXT COLLATE "C" NOT NULL UNIQUE,
    name            TEXT NOT NULL,
    created_at      BIGINT NOT NULL,
    PRIMARY KEY (organization_id, user_id)
);

-- A key is found by its public prefix; of its secret only a digest is here.
-- Lists are joined by commas: NULL means no list, '' an empty one.
CREATE TABLE api_keys (
    organization_id TEXT COLLATE "C" NOT NULL,
    key_id          TEXT COLLATE "C" NOT NULL UNIQUE,
    user_id         TEXT COLLATE "C" NOT NULL,
    prefix          TEXT COLLATE "C" NOT NULL UNIQUE,
    secret_sum      BYTEA NOT NULL CHECK (octet_length(secret_sum) = 32),
    name            TEXT NOT NULL,
    scopes          TEXT NOT NULL,
    connectors      TEXT,
    class           TEXT NOT NULL CHECK (class IN ('read', 'write', 'irreversible')),
    networks        TEXT,
    rate            BIGINT NOT NULL CHECK (rate >= 0),
    created_at      BIGINT NOT NULL,
    created_by      TEXT NOT NULL,
    expires_at      BIGINT NOT NULL,
    revoked_at      BIGINT,
    last_used_at    BIGINT,
    last_used_ip    TEXT,
    PRIMARY KEY (organization_id, key_id),
    FOREIGN KEY (organization_id, user_id) REFERENCES users (organization_id, user_id) ON DELETE CASCADE
);

CREATE INDEX api_keys_by_user ON api_keys (organization_id, user_id);

-- Sign-ins to the settings pages. A cookie's token is stored as its digest.
CREATE TABLE sessions (
    session_id      TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    token_sum       BYTEA NOT NULL UNIQUE CHECK (octet_length(token_sum) = 32),
    organization_id TEXT COLLATE "C" NOT NULL,
    key_id          TEXT COLLATE "C" NOT NULL,
    created_at      BIGINT NOT NULL,
    used_at         BIGINT NOT NULL,
    expires_at      BIGINT NOT NULL,
    FOREIGN KEY (organization_id, key_id) REFERENCES api_keys (organization_id, key_id) ON DELETE CASCADE
);

CREATE INDEX sessions_by_key ON sessions (organization_id, key_id);
CREATE INDEX sessions_by_end ON sessions (expires_at);

-- One row a tool call or a change. No body, no argument, no secret. Ids are
-- made in the order of time, so the key of the table is its order.
CREATE TABLE audit (
    organization_id TEXT COLLATE "C" NOT NULL,
    audit_id        TEXT COLLATE "C" NOT NULL,
    at              BIGINT NOT NULL,
    user_id         TEXT COLLATE "C" NOT NULL,
    key_id          TEXT COLLATE "C" NOT NULL,
    action          TEXT NOT NULL,
    target          TEXT NOT NULL,
    tool            TEXT NOT NULL,
    service         TEXT NOT NULL,
    module          TEXT NOT NULL,
    method          TEXT NOT NULL,
    path            TEXT NOT NULL,
    class           TEXT NOT NULL,
    status          BIGINT NOT NULL,
    bytes_in        BIGINT NOT NULL,
    bytes_out       BIGINT NOT NULL,
    took_ms         BIGINT NOT NULL,
    retries         BIGINT NOT NULL,
    hosts           TEXT NOT NULL,
    error           TEXT NOT NULL,
    PRIMARY KEY (organization_id, audit_id)
);

CREATE INDEX audit_by_user ON audit (organization_id, user_id, audit_id);
CREATE INDEX audit_by_time ON audit (at);
