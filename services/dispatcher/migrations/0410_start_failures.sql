-- Up Migration
-- Which sessions did not start where: one that fails wherever it goes says little about the servers that it met.
CREATE TABLE start_failures (
  server_id text NOT NULL REFERENCES agent_servers (id) ON DELETE CASCADE,
  session_id text NOT NULL,
  failed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- false: it failed while the server was left alone, which is of the same incident
  counts boolean NOT NULL,
  PRIMARY KEY (server_id, session_id)
);
CREATE INDEX start_failures_by_session ON start_failures (session_id);
CREATE INDEX start_failures_by_age ON start_failures (failed_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON start_failures TO lemniscate_app;
-- A session ran there, or somebody approved it: what failed before counts no more.
ALTER TABLE agent_servers ADD COLUMN cleared_at timestamptz;

-- Down Migration
ALTER TABLE agent_servers DROP COLUMN cleared_at;
DROP TABLE start_failures;
