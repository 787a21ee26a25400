-- +goose Up
-- A2A messages that changed something (protocol 9.6): which id is bound to
-- which content, as keyed hashes, and the encrypted reply once there is one.
CREATE TABLE messages (
    message     BLOB NOT NULL PRIMARY KEY CHECK (length(message) = 32),
    content_key TEXT NOT NULL,
    content_mac BLOB NOT NULL,
    expires_at  INTEGER NOT NULL,
    reply_key   TEXT,
    reply       BLOB,
    CHECK ((reply_key IS NULL) = (reply IS NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX messages_by_expiry ON messages (expires_at);
