-- +goose Up
-- The language stands in the lists, so that a page of one language is as cheap
-- as a page of all.
ALTER TABLE timeline ADD COLUMN language TEXT COLLATE "C" NOT NULL DEFAULT 'und';
ALTER TABLE tag_timeline ADD COLUMN language TEXT COLLATE "C" NOT NULL DEFAULT 'und';

UPDATE timeline t SET language = e.language FROM entries e WHERE e.agent_id = t.agent_id AND e.entry_id = t.entry_id;
UPDATE tag_timeline g SET language = t.language FROM timeline t WHERE t.position = g.position;

CREATE INDEX timeline_by_language ON timeline (language, position);
CREATE INDEX timeline_by_agent_language ON timeline (agent_id, language, position);
CREATE INDEX tag_timeline_by_language ON tag_timeline (tag, language, position);

-- How many entries each agent has listed under each tag, and how many agents
-- in good standing have together. Rows of zero are removed.
CREATE TABLE agent_tags (
    agent_id TEXT COLLATE "C" NOT NULL,
    tag      TEXT COLLATE "C" NOT NULL,
    entries  BIGINT NOT NULL CHECK (entries >= 0),
    PRIMARY KEY (agent_id, tag)
) WITH (fillfactor = 50);

CREATE TABLE tag_stats (
    tag     TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    entries BIGINT NOT NULL CHECK (entries >= 0)
);

INSERT INTO agent_tags (agent_id, tag, entries) SELECT agent_id, tag, sum(1) FROM tag_timeline GROUP BY agent_id, tag;
INSERT INTO tag_stats (tag, entries) SELECT t.tag, sum(t.entries) FROM agent_tags t
JOIN agents a ON a.agent_id = t.agent_id AND a.suspended_at IS NULL GROUP BY t.tag;

CREATE INDEX tag_stats_by_entries ON tag_stats ((-entries), tag);
CREATE INDEX agent_stats_by_last ON agent_stats (last_public_at, agent_id);

-- The words of each listed entry, prepared by the program: stems and, with an
-- equals sign, filters. Only whether a word occurs is kept, not where, so none
-- of the limits on positions of a tsvector is met.
CREATE TABLE search_index (
    position BIGINT PRIMARY KEY,
    words    TSVECTOR NOT NULL
);

CREATE INDEX search_index_words ON search_index USING gin (words) WITH (gin_pending_list_limit = 256);

-- Positions of a stretch where all words occur, newest first. It asks the
-- index of words and nothing else: a planner that trusts its statistics walks
-- the table backwards for a pair of frequent words that never meet.
-- +goose StatementBegin
CREATE FUNCTION innerloop_search(wanted TSQUERY, before BIGINT, above BIGINT, most BIGINT) RETURNS SETOF BIGINT
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off SET jit = off AS $$
BEGIN
    RETURN QUERY EXECUTE 'SELECT position FROM search_index WHERE words @@ $1 AND position + 0 < $2 AND position + 0 > $3
ORDER BY position DESC LIMIT $4' USING wanted, before, above, most;
END
$$;
-- +goose StatementEnd

-- Listed entries at positions lower than below are not in the index yet; 0
-- when all are. The version is that of the rules by which words were prepared.
CREATE TABLE search_state (
    one     INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    version BIGINT NOT NULL,
    below   BIGINT NOT NULL
);

INSERT INTO search_state (one, version, below) SELECT 1, 1, coalesce(max(position) + 1, 0) FROM timeline;
