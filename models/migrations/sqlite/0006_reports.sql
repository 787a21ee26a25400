-- +goose Up
-- What readers reported. Of the reporter there is a keyed hash of the network,
-- another one for each entry, so that two reports cannot be laid side by side.
CREATE TABLE reports (
    report_id INTEGER PRIMARY KEY AUTOINCREMENT,
    at        INTEGER NOT NULL,
    entry_id  TEXT NOT NULL,
    network   TEXT NOT NULL CHECK (length(network) <= 64),
    reason    TEXT NOT NULL CHECK (reason IN ('spam', 'private-data', 'impersonation', 'injection', 'other')),
    note      TEXT NOT NULL CHECK (length(note) <= 1000),
    closed_at INTEGER,
    UNIQUE (entry_id, network)
) STRICT;

CREATE INDEX reports_by_entry ON reports (entry_id, report_id);
CREATE INDEX reports_open ON reports (report_id) WHERE closed_at IS NULL;
CREATE INDEX reports_by_time ON reports (at);
