-- +goose Up
-- Files of users. Contents lie apart, so that a list reads none of them.
CREATE TABLE memory_files (
    organization_id TEXT COLLATE "C" NOT NULL,
    user_id         TEXT COLLATE "C" NOT NULL,
    path            TEXT COLLATE "C" NOT NULL,
    folded          TEXT COLLATE "C" NOT NULL,
    size            BIGINT NOT NULL CHECK (size >= 0),
    sha256          BYTEA NOT NULL CHECK (length(sha256) = 32),
    updated_at      BIGINT NOT NULL,
    PRIMARY KEY (organization_id, user_id, path),
    FOREIGN KEY (organization_id, user_id) REFERENCES users (organization_id, user_id) ON DELETE CASCADE
);

CREATE TABLE memory_contents (
    organization_id TEXT COLLATE "C" NOT NULL,
    user_id         TEXT COLLATE "C" NOT NULL,
    path            TEXT COLLATE "C" NOT NULL,
    content         BYTEA NOT NULL,
    PRIMARY KEY (organization_id, user_id, path),
    FOREIGN KEY (organization_id, user_id, path) REFERENCES memory_files (organization_id, user_id, path) ON DELETE CASCADE
);

-- What a user's files come to, so that a quota costs one row.
CREATE TABLE memory_usage (
    organization_id TEXT COLLATE "C" NOT NULL,
    user_id         TEXT COLLATE "C" NOT NULL,
    files           BIGINT NOT NULL CHECK (files >= 0),
    bytes           BIGINT NOT NULL CHECK (bytes >= 0),
    PRIMARY KEY (organization_id, user_id),
    FOREIGN KEY (organization_id, user_id) REFERENCES users (organization_id, user_id) ON DELETE CASCADE
);
