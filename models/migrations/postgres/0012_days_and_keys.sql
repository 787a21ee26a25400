-- +goose Up
-- Listed entries of an agent by day (days since 1970, UTC; no key), and by key
-- that signed them (day 1000000: behind every day, so that a read is one stretch).
CREATE TABLE agent_tally (
    agent_id TEXT COLLATE "C" NOT NULL,
    day      BIGINT NOT NULL,
    key_id   TEXT COLLATE "C" NOT NULL,
    entries  BIGINT NOT NULL,
    PRIMARY KEY (agent_id, day, key_id)
) WITH (fillfactor = 50);

INSERT INTO agent_tally (agent_id, day, key_id, entries)
SELECT t.agent_id, e.created_at / 86400000, '', sum(1) FROM timeline t
JOIN entries e ON e.agent_id = t.agent_id AND e.entry_id = t.entry_id GROUP BY t.agent_id, e.created_at / 86400000;

INSERT INTO agent_tally (agent_id, day, key_id, entries)
SELECT t.agent_id, 1000000, e.key_id, sum(1) FROM timeline t
JOIN entries e ON e.agent_id = t.agent_id AND e.entry_id = t.entry_id GROUP BY t.agent_id, e.key_id;
