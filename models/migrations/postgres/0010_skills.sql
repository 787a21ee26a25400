-- +goose Up
-- Skills of organisations, with their files.
CREATE TABLE skills (
    organization_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (organization_id) ON DELETE CASCADE,
    skill_id        TEXT COLLATE "C" NOT NULL,
    description     TEXT NOT NULL,
    service         TEXT COLLATE "C" NOT NULL,
    front           TEXT NOT NULL,
    enabled         BOOLEAN NOT NULL,
    added_at        BIGINT NOT NULL,
    changed_at      BIGINT NOT NULL,
    PRIMARY KEY (organization_id, skill_id)
);

CREATE TABLE skill_files (
    organization_id TEXT COLLATE "C" NOT NULL,
    skill_id        TEXT COLLATE "C" NOT NULL,
    path            TEXT COLLATE "C" NOT NULL,
    size            BIGINT NOT NULL CHECK (size >= 0),
    sha256          BYTEA NOT NULL CHECK (length(sha256) = 32),
    content         BYTEA NOT NULL,
    PRIMARY KEY (organization_id, skill_id, path),
    FOREIGN KEY (organization_id, skill_id) REFERENCES skills (organization_id, skill_id) ON DELETE CASCADE
);
