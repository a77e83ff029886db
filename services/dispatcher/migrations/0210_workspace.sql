-- Up Migration
-- Things that people and agents work on together. `actor_kind` says what the name beside it is: a person or a program
-- of theirs, an agent, or an account of a system outside.
CREATE TABLE project_workspaces (
  project_id text PRIMARY KEY REFERENCES projects (id),
  version integer NOT NULL DEFAULT 1,
  -- what sessions work on whose object or trigger names no repository
  repository jsonb,
  changed_by text NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE objects (
  id text PRIMARY KEY,
  project_id text NOT NULL REFERENCES projects (id),
  version integer NOT NULL DEFAULT 1,
  type text NOT NULL,
  title text NOT NULL,
  body text NOT NULL,
  status text NOT NULL,
  labels text[] NOT NULL DEFAULT '{}',
  assignee_kind text CHECK (assignee_kind IN ('person', 'agent')),
  assigned_to text,
  repository jsonb,
  -- 'workspace', or the system outside that it is a picture of
  source text NOT NULL DEFAULT 'workspace',
  source_key text,
  url text,
  actor_kind text NOT NULL CHECK (actor_kind IN ('person', 'agent', 'external')),
  created_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  changed_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((assignee_kind IS NULL) = (assigned_to IS NULL))
);
CREATE UNIQUE INDEX objects_by_source ON objects (project_id, source, source_key) WHERE source_key IS NOT NULL;
CREATE INDEX objects_by_project ON objects (project_id, id);

CREATE TABLE object_comments (
  id text PRIMARY KEY,
  object_id text NOT NULL REFERENCES objects (id),
  body text NOT NULL,
  reply_to text,
  actor_kind text NOT NULL CHECK (actor_kind IN ('person', 'agent', 'external')),
  created_by text NOT NULL,
  -- who of ours an account outside belongs to
  member_by text,
  -- of an agent: the session that wrote it
  session_id text REFERENCES sessions (id),
  source_key text,
  url text,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX object_comments_by_object ON object_comments (object_id, id);
CREATE UNIQUE INDEX object_comments_by_source ON object_comments (object_id, source_key) WHERE source_key IS NOT NULL;

CREATE TABLE object_history (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  object_id text NOT NULL REFERENCES objects (id),
  at timestamptz NOT NULL DEFAULT now(),
  act text NOT NULL,
  actor_kind text NOT NULL CHECK (actor_kind IN ('person', 'agent', 'external')),
  acted_by text NOT NULL,
  session_id text,
  detail jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX object_history_by_object ON object_history (object_id, id);

-- Files that agents wrote, attached by link: the bytes are the session's.
CREATE TABLE object_files (
  object_id text NOT NULL REFERENCES objects (id),
  session_id text NOT NULL REFERENCES sessions (id),
  path text NOT NULL,
  actor_kind text NOT NULL CHECK (actor_kind IN ('person', 'agent', 'external')),
  attached_by text NOT NULL,
  attached_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (object_id, session_id, path)
);

-- Everything that asked for a session and was not a direct call: what came, and what became of it, with the reason.
CREATE TABLE deliveries (
  id text PRIMARY KEY,
  project_id text NOT NULL REFERENCES projects (id),
  cause text NOT NULL,
  state text NOT NULL CHECK (state IN ('pending', 'started', 'refused', 'ignored')),
  reason text,
  message text,
  agent text,
  -- whose rights the session has
  owner text,
  -- who made it happen
  actor_kind text CHECK (actor_kind IN ('person', 'agent', 'external')),
  acted_by text,
  trigger_id text,
  hook_id text,
  external_id text,
  object_id text REFERENCES objects (id),
  comment_id text,
  depth integer NOT NULL DEFAULT 0,
  -- what the session is started with; taken away when it has been
  terms jsonb,
  attempts integer NOT NULL DEFAULT 0,
  due_at timestamptz NOT NULL DEFAULT now(),
  session_id text REFERENCES sessions (id),
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX deliveries_pending ON deliveries (due_at) WHERE state = 'pending';
CREATE INDEX deliveries_by_project ON deliveries (project_id, id);
CREATE INDEX deliveries_by_age ON deliveries (created_at);

ALTER TABLE sessions ADD COLUMN object_id text REFERENCES objects (id);
-- Where a session came from that no direct call opened; `answered_at`: its answer is where it belongs.
CREATE TABLE session_origins (
  session_id text PRIMARY KEY REFERENCES sessions (id),
  delivery_id text NOT NULL UNIQUE,
  project_id text NOT NULL,
  agent text NOT NULL,
  cause text NOT NULL,
  trigger_id text,
  object_id text REFERENCES objects (id),
  comment_id text,
  depth integer NOT NULL,
  -- told of the result beside the owner; null where that is no person of ours
  asked_by text,
  created_at timestamptz NOT NULL DEFAULT now(),
  answered_at timestamptz
);
CREATE INDEX session_origins_open ON session_origins (session_id) WHERE answered_at IS NULL;
CREATE INDEX session_origins_by_agent ON session_origins (agent, created_at);

CREATE TABLE inbox_items (
  id text PRIMARY KEY,
  subject text NOT NULL,
  kind text NOT NULL,
  project_id text NOT NULL,
  title text NOT NULL,
  object_id text,
  comment_id text,
  session_id text,
  approval_id text,
  -- one item for one thing
  about text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  read_at timestamptz,
  done_at timestamptz,
  UNIQUE (subject, about)
);
CREATE INDEX inbox_by_subject ON inbox_items (subject, id);
CREATE INDEX inbox_by_approval ON inbox_items (approval_id) WHERE approval_id IS NOT NULL AND done_at IS NULL;

GRANT SELECT, INSERT, UPDATE, DELETE ON project_workspaces, objects, object_comments, object_files, deliveries,
  session_origins, inbox_items TO lemniscate_app;
-- what was done stays done; erasing a person puts a pseudonym in the place of the name
GRANT SELECT, INSERT, UPDATE (acted_by) ON object_history TO lemniscate_app;

-- Down Migration
DROP TABLE inbox_items, session_origins;
ALTER TABLE sessions DROP COLUMN object_id;
DROP TABLE deliveries, object_files, object_history, object_comments, objects, project_workspaces;
