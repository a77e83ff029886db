-- Up Migration
-- Actors that sessions run as. Every version is kept; a session records the one that it ran as.
CREATE TABLE agents (
  id text PRIMARY KEY,
  -- '*': works in every project
  project_id text NOT NULL,
  version integer NOT NULL DEFAULT 1,
  definition jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE agent_versions (
  agent_id text NOT NULL REFERENCES agents (id),
  version integer NOT NULL,
  definition jsonb NOT NULL,
  digest text NOT NULL,
  changed_by text NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (agent_id, version)
);
-- the agent of sessions that name none
INSERT INTO agents (id, project_id, definition) VALUES ('default', '*', '{"systemPrompt":"","memory":"off","skills":[],"credentials":[],"disabled":false}');
INSERT INTO agent_versions (agent_id, version, definition, digest, changed_by)
SELECT id, 1, definition, encode(sha256(convert_to(definition::text, 'UTF8')), 'hex'), 'fleet' FROM agents;

-- Procedures that agents can read. A version is a list of paths and digests; the bytes are objects of the project.
CREATE TABLE skills (
  project_id text NOT NULL REFERENCES projects (id),
  name text NOT NULL,
  version integer NOT NULL,
  description text NOT NULL,
  files jsonb NOT NULL,
  digest text NOT NULL,
  pushed_by text NOT NULL,
  pushed_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (project_id, name, version)
);

-- What an agent has kept in a project, version by version: `files` names path, digest, length, session and time.
CREATE TABLE memories (
  agent_id text NOT NULL REFERENCES agents (id),
  project_id text NOT NULL REFERENCES projects (id),
  version integer NOT NULL,
  files jsonb NOT NULL,
  -- who made this version: a session at its end, or a person
  session_id text REFERENCES sessions (id),
  changed_by text NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (agent_id, project_id, version)
);
-- Pushes that a person looks at first.
CREATE TABLE memory_proposals (
  session_id text PRIMARY KEY REFERENCES sessions (id),
  agent_id text NOT NULL REFERENCES agents (id),
  project_id text NOT NULL REFERENCES projects (id),
  base_version integer NOT NULL,
  files jsonb NOT NULL,
  state text NOT NULL CHECK (state IN ('waiting', 'accepted', 'rejected')),
  decided_by text,
  decided_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX memory_proposals_waiting ON memory_proposals (agent_id, project_id) WHERE state = 'waiting';

-- What a session's agent wrote outside the repository.
CREATE TABLE session_files (
  session_id text NOT NULL REFERENCES sessions (id),
  path text NOT NULL,
  sha256 text NOT NULL,
  bytes bigint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (session_id, path)
);

ALTER TABLE sessions
  ADD COLUMN agent text NOT NULL DEFAULT 'default' REFERENCES agents (id),
  ADD COLUMN agent_version integer NOT NULL DEFAULT 1,
  -- the agent's definition and the skills' versions, as they were when the session opened
  ADD COLUMN agent_definition jsonb NOT NULL DEFAULT '{}',
  ADD COLUMN skills jsonb NOT NULL DEFAULT '[]',
  -- what the agent remembered when the attempt was ordered; NULL: nothing is given or taken
  ADD COLUMN memory_version integer,
  -- whether the person's sessions may add to the memory
  ADD COLUMN memory_writes boolean NOT NULL DEFAULT false;

GRANT SELECT, INSERT, UPDATE ON agents, memory_proposals TO lemniscate_app;
GRANT SELECT, INSERT ON agent_versions, skills, memories, session_files TO lemniscate_app;

-- Down Migration
ALTER TABLE sessions DROP COLUMN memory_writes, DROP COLUMN memory_version, DROP COLUMN skills,
  DROP COLUMN agent_definition, DROP COLUMN agent_version, DROP COLUMN agent;
DROP TABLE session_files, memory_proposals, memories, skills, agent_versions, agents;
