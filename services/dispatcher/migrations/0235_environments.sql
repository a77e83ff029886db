-- Up Migration
-- Builds of projects' environments: what `prepare` has installed, as one archive that sessions get under their working
-- copy. Each is made by a session of its own, whose log is the build's.
CREATE TABLE environments (
  id text PRIMARY KEY,
  project_id text NOT NULL REFERENCES projects (id),
  -- digest of base, prepare text, variables and lockfiles; NULL until a build that nobody waits for knows it
  key text,
  state text NOT NULL CHECK (state IN ('building', 'ready', 'failed', 'expired')),
  cause text NOT NULL CHECK (cause IN ('session', 'person', 'schedule')),
  session_id text NOT NULL REFERENCES sessions (id),
  -- what it was built from, for the schedule: repository at its commit, and the policy's section
  repository jsonb NOT NULL,
  definition jsonb NOT NULL,
  archive_sha256 text,
  archive_bytes bigint,
  -- paths of the workspace that came with it
  installed jsonb NOT NULL DEFAULT '[]',
  message text,
  started_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz,
  used_at timestamptz,
  CHECK ((state IN ('ready', 'expired')) = (archive_sha256 IS NOT NULL))
);
CREATE UNIQUE INDEX environments_under_way ON environments (project_id, key) WHERE state = 'building';
CREATE INDEX environments_by_key ON environments (project_id, key, started_at DESC);
CREATE INDEX environments_of_session ON environments (session_id);

ALTER TABLE sessions
  -- the environment that a session was given last
  ADD COLUMN environment text,
  -- the one that it prepares
  ADD COLUMN builds_environment text,
  -- the key of the one that it waits for in the queue
  ADD COLUMN waits_for_environment text;
CREATE INDEX sessions_waiting_for_environment ON sessions (project_id, waits_for_environment)
  WHERE waits_for_environment IS NOT NULL;

GRANT SELECT, INSERT, UPDATE ON environments TO lemniscate_app;

-- Down Migration
ALTER TABLE sessions DROP COLUMN waits_for_environment, DROP COLUMN builds_environment,
  DROP COLUMN environment;
DROP TABLE environments;
