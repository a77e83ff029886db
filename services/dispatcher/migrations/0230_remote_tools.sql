-- Up Migration
-- Tools of the MCP servers of agents, as their servers last described them, and as somebody approved them.
CREATE TABLE remote_tools (
  agent_id text NOT NULL REFERENCES agents (id),
  server text NOT NULL,
  tool text NOT NULL,
  -- where it was seen: a server that is moved begins anew
  url text NOT NULL,
  description text NOT NULL,
  input_schema jsonb NOT NULL,
  digest text NOT NULL,
  gone boolean NOT NULL DEFAULT false,
  seen_at timestamptz NOT NULL DEFAULT now(),
  approved_digest text,
  approved_by text,
  approved_at timestamptz,
  PRIMARY KEY (agent_id, server, tool)
);
-- Calls that the dispatcher carries out: which are under way, and until when. Arguments and results are not in here.
CREATE TABLE remote_calls (
  session_id text NOT NULL REFERENCES sessions (id),
  attempt integer NOT NULL,
  call_id text NOT NULL,
  state text NOT NULL CHECK (state IN ('calling', 'done', 'unknown')),
  started_at timestamptz NOT NULL DEFAULT now(),
  deadline timestamptz NOT NULL,
  PRIMARY KEY (session_id, attempt, call_id)
);
GRANT SELECT, INSERT, UPDATE ON remote_tools TO lemniscate_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON remote_calls TO lemniscate_app;

-- Down Migration
DROP TABLE remote_calls, remote_tools;
