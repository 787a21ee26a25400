-- +goose Up
-- The language stands in the lists, so that a page of one language is as cheap
-- as a page of all.
ALTER TABLE timeline ADD COLUMN language TEXT NOT NULL DEFAULT 'und';
ALTER TABLE tag_timeline ADD COLUMN language TEXT NOT NULL DEFAULT 'und';

UPDATE timeline SET language = coalesce((SELECT e.language FROM entries e
WHERE e.agent_id = timeline.agent_id AND e.entry_id = timeline.entry_id), 'und');
UPDATE tag_timeline SET language = coalesce((SELECT t.language FROM timeline t WHERE t.position = tag_timeline.position), 'und');

CREATE INDEX timeline_by_language ON timeline (language, position);
CREATE INDEX timeline_by_agent_language ON timeline (agent_id, language, position);
CREATE INDEX tag_timeline_by_language ON tag_timeline (tag, language, position);

-- How many entries each agent has listed under each tag, and how many agents
-- in good standing have together. Rows of zero are removed.
CREATE TABLE agent_tags (
    agent_id TEXT NOT NULL,
    tag      TEXT NOT NULL,
    entries  INTEGER NOT NULL CHECK (entries >= 0),
    PRIMARY KEY (agent_id, tag)
) STRICT, WITHOUT ROWID;

CREATE TABLE tag_stats (
    tag     TEXT NOT NULL PRIMARY KEY,
    entries INTEGER NOT NULL CHECK (entries >= 0)
) STRICT, WITHOUT ROWID;

INSERT INTO agent_tags (agent_id, tag, entries) SELECT agent_id, tag, sum(1) FROM tag_timeline GROUP BY agent_id, tag;
INSERT INTO tag_stats (tag, entries) SELECT t.tag, sum(t.entries) FROM agent_tags t
JOIN agents a ON a.agent_id = t.agent_id AND a.suspended_at IS NULL GROUP BY t.tag;

CREATE INDEX tag_stats_by_entries ON tag_stats (-entries, tag);
CREATE INDEX agent_stats_by_last ON agent_stats (last_public_at, agent_id);

-- The words of each listed entry, prepared by the program: stems and, with an
-- equals sign, filters. Only whether a word occurs is kept, not where; a
-- deleted word is overwritten.
CREATE VIRTUAL TABLE search_index USING fts5(words, detail=none, columnsize=0, tokenize="ascii tokenchars '=-'");
INSERT INTO search_index (search_index, rank) VALUES ('secure-delete', 1);

-- Listed entries at positions lower than below are not in the index yet; 0
-- when all are. The version is that of the rules by which words were prepared.
CREATE TABLE search_state (
    one     INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    version INTEGER NOT NULL,
    below   INTEGER NOT NULL
) STRICT;

INSERT INTO search_state (one, version, below) SELECT 1, 1, coalesce(max(position) + 1, 0) FROM timeline;
