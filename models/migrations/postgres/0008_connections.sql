-- +goose Up
-- Credentials that organisations entrust to the service. Every field is sealed
-- under the organisation's data key, which is here only wrapped under the
-- master key that is named beside it.
CREATE TABLE vault_keys (
    organization_id TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES organizations (organization_id) ON DELETE CASCADE,
    master          TEXT COLLATE "C" NOT NULL,
    wrapped         BYTEA NOT NULL
);

-- A connection without a user is every user's of the organisation.
CREATE TABLE connections (
    organization_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (organization_id) ON DELETE CASCADE,
    connection_id   TEXT COLLATE "C" NOT NULL UNIQUE,
    user_id         TEXT COLLATE "C",
    service         TEXT COLLATE "C" NOT NULL,
    name            TEXT COLLATE "C" NOT NULL,
    auth            TEXT NOT NULL,
    base_url        TEXT NOT NULL,
    test            BOOLEAN NOT NULL,
    state           TEXT NOT NULL CHECK (state IN ('connected', 'reconnect')),
    version         BIGINT NOT NULL CHECK (version > 0),
    created_at      BIGINT NOT NULL,
    changed_at      BIGINT NOT NULL,
    checked_at      BIGINT,
    PRIMARY KEY (organization_id, connection_id),
    FOREIGN KEY (organization_id, user_id) REFERENCES users (organization_id, user_id) ON DELETE CASCADE
);

CREATE UNIQUE INDEX connections_by_name ON connections (organization_id, service, name, COALESCE(user_id, ''));
CREATE INDEX connections_by_user ON connections (organization_id, user_id);

CREATE TABLE connection_values (
    organization_id TEXT COLLATE "C" NOT NULL,
    connection_id   TEXT COLLATE "C" NOT NULL,
    kind            TEXT NOT NULL CHECK (kind IN ('field', 'param')),
    name            TEXT COLLATE "C" NOT NULL,
    sealed          BYTEA,
    plain           TEXT,
    tail            TEXT NOT NULL,
    PRIMARY KEY (organization_id, connection_id, kind, name),
    FOREIGN KEY (organization_id, connection_id) REFERENCES connections (organization_id, connection_id) ON DELETE CASCADE,
    CHECK ((kind = 'field') = (sealed IS NOT NULL) AND (kind = 'param') = (plain IS NOT NULL))
);

-- Networks that connections with an address of their own may lead into.
CREATE TABLE organization_networks (
    organization_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (organization_id) ON DELETE CASCADE,
    network         TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (organization_id, network)
);

CREATE TABLE organization_settings (
    organization_id  TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES organizations (organization_id) ON DELETE CASCADE,
    must_confirm     BOOLEAN NOT NULL,
    broker_only      BOOLEAN NOT NULL,
    all_when_unnamed BOOLEAN NOT NULL
);
