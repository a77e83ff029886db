-- Up Migration
-- A list of sessions that is watched asks which ones have ended since it last looked.
CREATE INDEX sessions_ended ON sessions (ended_at) WHERE ended_at IS NOT NULL;

-- Down Migration
DROP INDEX sessions_ended;
