-- +goose Up
-- What was used of each exact budget in each window. A subject is an agent, the
-- keyed hash of a network, or empty for the whole service; an address is never
-- stored.
CREATE TABLE quotas (
    scope        TEXT COLLATE "C" NOT NULL,
    subject      TEXT COLLATE "C" NOT NULL,
    window_from  BIGINT NOT NULL,
    window_until BIGINT NOT NULL,
    used         BIGINT NOT NULL CHECK (used >= 0),
    PRIMARY KEY (scope, subject, window_from)
);

CREATE INDEX quotas_by_end ON quotas (window_until);

-- Sketches of recent public texts, to know nearly the same text again.
CREATE TABLE sketches (
    agent_id   TEXT COLLATE "C" NOT NULL,
    at         BIGINT NOT NULL,
    entry_id   TEXT COLLATE "C" NOT NULL,
    network    TEXT COLLATE "C",
    expires_at BIGINT NOT NULL,
    sketch     BYTEA NOT NULL CHECK (octet_length(sketch) <= 1024),
    PRIMARY KEY (agent_id, at, entry_id)
);

CREATE INDEX sketches_by_network ON sketches (network, at) WHERE network IS NOT NULL;
CREATE INDEX sketches_by_end ON sketches (expires_at);

-- The keyed hash of the network that asked for a challenge, while it is open.
ALTER TABLE challenges ADD COLUMN network TEXT COLLATE "C";

CREATE INDEX challenges_open_by_network ON challenges (network, expires_at) WHERE agent_id IS NULL AND network IS NOT NULL;
CREATE INDEX challenges_open_by_end ON challenges (expires_at) WHERE agent_id IS NULL;

-- What the operator switched, for every process to see.
CREATE TABLE switches (
    name       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    is_on      BOOLEAN NOT NULL,
    changed_at BIGINT NOT NULL
);
