-- +goose Up
-- Each transaction leaves a segment of the index of words, and a question opens
-- all there are. The chores merge as soon as two are of one level.
INSERT INTO search_index (search_index, rank) VALUES ('usermerge', 2);
