-- Up Migration
-- What waits is looked at by timers: for what has waited too long, for what nothing holds on to any more. Each is to read as
-- much as it finds and not all that waits. Led by the project, for each has a longest wait of its own; with the id, so that
-- a walk through all of them knows where it stands.
CREATE INDEX sessions_live_by_project ON sessions (state, project_id, queued_at, id)
  WHERE state IN ('pending', 'starting', 'running', 'paused');
DROP INDEX sessions_live;
-- Births lie on the disk in their order: a summary of each range serves reports as well, and each version of a row is
-- spared an entry.
CREATE INDEX sessions_by_birth ON sessions USING brin (created_at) WITH (pages_per_range = 32, autosummarize = on);
DROP INDEX sessions_newest;

-- Down Migration
CREATE INDEX sessions_newest ON sessions (created_at DESC, id DESC);
DROP INDEX sessions_by_birth;
CREATE INDEX sessions_live ON sessions (state, queued_at) WHERE state IN ('pending', 'starting', 'running', 'paused');
DROP INDEX sessions_live_by_project;
