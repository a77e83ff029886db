-- Up Migration
-- People whose access an administrator has taken away. Asked on every request, so it works without a restart.
CREATE TABLE revoked_users (
  subject text PRIMARY KEY,
  revoked_by text NOT NULL,
  note text,
  revoked_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX sessions_live_by_person ON sessions (opened_by) WHERE state IN ('pending', 'starting', 'running', 'paused');

GRANT SELECT, INSERT, DELETE ON revoked_users TO lemniscate_app;

-- Down Migration
DROP INDEX sessions_live_by_person;
DROP TABLE revoked_users;
