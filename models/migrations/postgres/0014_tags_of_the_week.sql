-- +goose Up
-- How many entries of agents in good standing are listed under a tag, by the
-- day of their arrival (days since 1970, UTC). The last days only: those that
-- some week still needs.
CREATE TABLE tag_days (
    tag     TEXT COLLATE "C" NOT NULL,
    day     BIGINT NOT NULL,
    entries BIGINT NOT NULL,
    PRIMARY KEY (tag, day)
) WITH (fillfactor = 50);

-- The same of the seven days that end with a day. Rows of zero are removed.
CREATE TABLE tag_weeks (
    until   BIGINT NOT NULL,
    tag     TEXT COLLATE "C" NOT NULL,
    entries BIGINT NOT NULL,
    PRIMARY KEY (until, tag)
);

CREATE INDEX tag_weeks_by_entries ON tag_weeks (until, (-entries), tag);

-- Which weeks are kept. One that is not whole yet has the tags up to some tag.
-- Days before since of the newest row are kept no longer.
CREATE TABLE weeks (
    until BIGINT NOT NULL PRIMARY KEY,
    since BIGINT NOT NULL,
    upto  TEXT COLLATE "C" NOT NULL,
    whole SMALLINT NOT NULL CHECK (whole IN (0, 1))
);

INSERT INTO weeks (until, since, upto, whole)
SELECT d.day, d.day - 6, '', 0 FROM (SELECT coalesce(max(last_public_at), 0) / 86400000 AS day FROM agent_stats) d;

-- An id begins with the time of arrival, so the last days of a large journal
-- are found by it. The day before is looked at as well.
INSERT INTO tag_days (tag, day, entries)
SELECT g.tag, e.created_at / 86400000, sum(1) FROM entries e
JOIN agents a ON a.agent_id = e.agent_id AND a.suspended_at IS NULL
JOIN tag_timeline g ON g.position = e.position
WHERE e.entry_id >= (SELECT 'entry_' || lpad(to_hex(greatest(since - 1, 0) * 86400000), 12, '0') FROM weeks)
AND e.created_at >= (SELECT since * 86400000 FROM weeks)
GROUP BY g.tag, e.created_at / 86400000;
