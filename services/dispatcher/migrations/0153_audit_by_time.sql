-- Up Migration
-- A search has a span of time. Entries come in its order, so ranges of blocks tell where to look, and appending stays
-- as cheap as it was: there is no tree to maintain.
CREATE INDEX audit_entries_by_time ON audit_entries USING brin (at) WITH (pages_per_range = 32);

-- Down Migration
DROP INDEX audit_entries_by_time;
