-- +goose Up
-- A2A messages that changed something (protocol 9.6): which id is bound to
-- which content, as keyed hashes, and the encrypted reply once there is one.
CREATE TABLE messages (
    message     BYTEA NOT NULL PRIMARY KEY CHECK (octet_length(message) = 32),
    content_key TEXT NOT NULL,
    content_mac BYTEA NOT NULL,
    expires_at  BIGINT NOT NULL,
    reply_key   TEXT,
    reply       BYTEA,
    CHECK ((reply_key IS NULL) = (reply IS NULL))
);

CREATE INDEX messages_by_expiry ON messages (expires_at);
