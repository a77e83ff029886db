-- Up Migration
-- Files of an agent's memory that somebody wants in another project, until a person there has looked at them.
CREATE TABLE memory_carries (
  id text PRIMARY KEY,
  agent_id text NOT NULL REFERENCES agents (id),
  project_id text NOT NULL REFERENCES projects (id),
  from_project text NOT NULL REFERENCES projects (id),
  from_version integer NOT NULL,
  files jsonb NOT NULL,
  state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'accepted', 'rejected')),
  asked_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  decided_by text,
  decided_at timestamptz
);
CREATE INDEX memory_carries_waiting ON memory_carries (agent_id, project_id) WHERE state = 'waiting';
GRANT SELECT, INSERT, UPDATE ON memory_carries TO lemniscate_app;

-- Down Migration
DROP TABLE memory_carries;
