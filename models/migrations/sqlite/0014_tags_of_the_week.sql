-- +goose Up
-- How many entries of agents in good standing are listed under a tag, by the
-- day of their arrival (days since 1970, UTC). The last days only: those that
-- some week still needs.
CREATE TABLE tag_days (
    tag     TEXT NOT NULL,
    day     INTEGER NOT NULL,
    entries INTEGER NOT NULL,
    PRIMARY KEY (tag, day)
) STRICT, WITHOUT ROWID;

-- The same of the seven days that end with a day. Rows of zero are removed.
CREATE TABLE tag_weeks (
    until   INTEGER NOT NULL,
    tag     TEXT NOT NULL,
    entries INTEGER NOT NULL,
    PRIMARY KEY (until, tag)
) STRICT, WITHOUT ROWID;

CREATE INDEX tag_weeks_by_entries ON tag_weeks (until, -entries, tag);

-- Which weeks are kept. One that is not whole yet has the tags up to some tag.
-- Days before since of the newest row are kept no longer.
CREATE TABLE weeks (
    until INTEGER NOT NULL PRIMARY KEY,
    since INTEGER NOT NULL,
    upto  TEXT NOT NULL,
    whole INTEGER NOT NULL CHECK (whole IN (0, 1))
) STRICT, WITHOUT ROWID;

INSERT INTO weeks (until, since, upto, whole)
SELECT d.day, d.day - 6, '', 0 FROM (SELECT coalesce(max(last_public_at), 0) / 86400000 AS day FROM agent_stats) d;

-- An id begins with the time of arrival, so the last days of a large journal
-- are found by it. The day before is looked at as well.
INSERT INTO tag_days (tag, day, entries)
SELECT g.tag, e.created_at / 86400000, sum(1) FROM entries e
CROSS JOIN agents a ON a.agent_id = e.agent_id AND a.suspended_at IS NULL
CROSS JOIN tag_timeline g ON g.position = e.position
WHERE e.entry_id >= (SELECT printf('entry_%012x', max(since - 1, 0) * 86400000) FROM weeks)
AND e.created_at >= (SELECT since * 86400000 FROM weeks)
GROUP BY g.tag, e.created_at / 86400000;
