-- Up Migration
-- The run of the client that a session's counters belong to; null until one has said its name.
ALTER TABLE sessions ADD COLUMN client_run text;

-- Down Migration
ALTER TABLE sessions DROP COLUMN client_run;
