-- Up Migration
-- What a session can go on from on any server. A row is written last, so what is here is whole.
CREATE TABLE checkpoints (
  session_id text NOT NULL REFERENCES sessions (id),
  -- counts from 1; the highest is in force
  number integer NOT NULL,
  attempt integer NOT NULL,
  cause text NOT NULL CHECK (cause IN ('pause', 'interval')),
  -- last event that had happened
  event_position bigint NOT NULL,
  base_commit text NOT NULL,
  transcript_sha256 text NOT NULL,
  transcript_bytes bigint NOT NULL,
  archive_sha256 text NOT NULL,
  archive_bytes bigint NOT NULL,
  workspace_digest text NOT NULL,
  home_digest text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (session_id, number)
);

-- Spans in which a session that had begun to work could not: paused, or lost and not yet running again. They use up no
-- minutes.
CREATE TABLE session_pauses (
  session_id text NOT NULL REFERENCES sessions (id),
  number integer NOT NULL,
  reason text NOT NULL,
  since timestamptz NOT NULL DEFAULT now(),
  until timestamptz,
  PRIMARY KEY (session_id, number)
);
CREATE UNIQUE INDEX session_pauses_open ON session_pauses (session_id) WHERE until IS NULL;

ALTER TABLE sessions
  -- why the session is to be paused as soon as it stands at a boundary
  ADD COLUMN pause_requested text,
  ADD COLUMN pause_requested_by text;
CREATE INDEX sessions_paused ON sessions (id) WHERE state = 'paused';
CREATE INDEX sessions_to_pause ON sessions (id) WHERE pause_requested IS NOT NULL;

GRANT SELECT, INSERT ON checkpoints TO lemniscate_app;
GRANT SELECT, INSERT, UPDATE ON session_pauses TO lemniscate_app;

-- Down Migration
DROP INDEX sessions_to_pause, sessions_paused;
ALTER TABLE sessions DROP COLUMN pause_requested, DROP COLUMN pause_requested_by;
DROP TABLE session_pauses, checkpoints;
