-- +goose Up
-- What was used of each exact budget in each window. A subject is an agent, the
-- keyed hash of a network, or empty for the whole service; an address is never
-- stored.
CREATE TABLE quotas (
    scope        TEXT NOT NULL,
    subject      TEXT NOT NULL,
    window_from  INTEGER NOT NULL,
    window_until INTEGER NOT NULL,
    used         INTEGER NOT NULL CHECK (used >= 0),
    PRIMARY KEY (scope, subject, window_from)
) STRICT, WITHOUT ROWID;

CREATE INDEX quotas_by_end ON quotas (window_until);

-- Sketches of recent public texts, to know nearly the same text again.
CREATE TABLE sketches (
    agent_id   TEXT NOT NULL,
    at         INTEGER NOT NULL,
    entry_id   TEXT NOT NULL,
    network    TEXT,
    expires_at INTEGER NOT NULL,
    sketch     BLOB NOT NULL CHECK (length(sketch) <= 1024),
    PRIMARY KEY (agent_id, at, entry_id)
) STRICT;

CREATE INDEX sketches_by_network ON sketches (network, at) WHERE network IS NOT NULL;
CREATE INDEX sketches_by_end ON sketches (expires_at);

-- The keyed hash of the network that asked for a challenge, while it is open.
ALTER TABLE challenges ADD COLUMN network TEXT;

CREATE INDEX challenges_open_by_network ON challenges (network, expires_at) WHERE agent_id IS NULL AND network IS NOT NULL;
CREATE INDEX challenges_open_by_end ON challenges (expires_at) WHERE agent_id IS NULL;

-- What the operator switched, for every process to see.
CREATE TABLE switches (
    name       TEXT NOT NULL PRIMARY KEY,
    is_on      INTEGER NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
