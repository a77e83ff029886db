-- Up Migration
-- The record of the fleet. Times are timestamptz; the application reads them as text with milliseconds.
-- The services work as role lemniscate_app (SET ROLE on each connection); tables belong to the migrating owner.
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'lemniscate_app') THEN
    CREATE ROLE lemniscate_app NOLOGIN;
  END IF;
  EXECUTE format('GRANT lemniscate_app TO %I', current_user);
END $$;

CREATE TABLE projects (
  id text PRIMARY KEY,
  policy jsonb NOT NULL,
  policy_digest text NOT NULL,
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE agent_servers (
  id text PRIMARY KEY,
  url text NOT NULL,
  pool text NOT NULL,
  capacity integer NOT NULL,
  boot_id text,
  driver text,
  -- a workstation's server belongs to the person who joined it and takes pinned sessions only
  pinned_to text,
  status jsonb,
  seen_at timestamptz,
  joined_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE sessions (
  id text PRIMARY KEY,
  version integer NOT NULL DEFAULT 1,
  project_id text NOT NULL REFERENCES projects (id),
  state text NOT NULL,
  phase text NOT NULL,
  reason text,
  message text,
  -- fencing token: minted by `attempt = attempt + 1 … RETURNING`
  attempt integer NOT NULL DEFAULT 0,
  -- part of the queue job's id; bumped by compare-and-set so that a re-add neither vanishes nor runs twice
  generation integer NOT NULL DEFAULT 1,
  losses integer NOT NULL DEFAULT 0,
  server_id text,
  pinned_server text,
  instruction text NOT NULL,
  repository jsonb NOT NULL,
  runtime text NOT NULL,
  model text NOT NULL,
  surface text NOT NULL,
  interactive boolean NOT NULL,
  execution text NOT NULL,
  opened_by text NOT NULL,
  policy jsonb NOT NULL,
  policy_digest text NOT NULL,
  driver text,
  timings_ms jsonb NOT NULL DEFAULT '{}',
  event_position bigint NOT NULL DEFAULT 0,
  -- budget counters of this run of the session
  actions_used integer NOT NULL DEFAULT 0,
  commands_used integer NOT NULL DEFAULT 0,
  waited_ms bigint NOT NULL DEFAULT 0,
  stop_reason text,
  created_at timestamptz NOT NULL DEFAULT now(),
  queued_at timestamptz NOT NULL DEFAULT now(),
  started_at timestamptz,
  running_at timestamptz,
  ended_at timestamptz
);
CREATE INDEX sessions_live ON sessions (state, queued_at) WHERE state IN ('pending', 'starting', 'running', 'paused');
CREATE INDEX sessions_newest ON sessions (created_at DESC, id DESC);

CREATE TABLE idempotency_keys (
  caller text NOT NULL,
  key text NOT NULL,
  request_hash text NOT NULL,
  session_id text NOT NULL REFERENCES sessions (id),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (caller, key)
);

CREATE TABLE attempts (
  session_id text NOT NULL REFERENCES sessions (id),
  attempt integer NOT NULL,
  server_id text NOT NULL,
  boot_id text,
  state text NOT NULL CHECK (state IN ('live', 'ended', 'lost', 'refused')),
  relay_token_hash text NOT NULL,
  lease_expires_at timestamptz NOT NULL,
  start_deadline timestamptz NOT NULL,
  -- highest event sequence of the server that has been committed
  acknowledged_seq bigint NOT NULL DEFAULT 0,
  result_digest text,
  created_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz,
  PRIMARY KEY (session_id, attempt)
);
CREATE INDEX attempts_live ON attempts (lease_expires_at) WHERE state = 'live';
CREATE INDEX attempts_by_server ON attempts (server_id) WHERE state = 'live';

CREATE TABLE outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session_id text NOT NULL,
  generation integer NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE session_events (
  session_id text NOT NULL REFERENCES sessions (id),
  position bigint NOT NULL,
  attempt integer NOT NULL,
  at timestamptz NOT NULL,
  type text NOT NULL,
  -- the event itself, or null when it lies in a segment
  event jsonb,
  segment_key text,
  PRIMARY KEY (session_id, position)
);

CREATE TABLE tool_calls (
  session_id text NOT NULL REFERENCES sessions (id),
  attempt integer NOT NULL,
  call_id text NOT NULL,
  turn integer NOT NULL,
  tool text NOT NULL,
  state text NOT NULL,
  arguments_digest text,
  verdict text,
  decided_by text CHECK (decided_by IN ('human', 'automation')),
  answer jsonb,
  exit_code integer,
  duration_ms double precision,
  proposed_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz,
  PRIMARY KEY (session_id, attempt, call_id)
);

CREATE TABLE approvals (
  id text PRIMARY KEY,
  session_id text NOT NULL REFERENCES sessions (id),
  call_id text NOT NULL,
  arguments_digest text NOT NULL,
  policy_digest text NOT NULL,
  tool text NOT NULL,
  title text NOT NULL,
  arguments jsonb NOT NULL,
  reasons jsonb NOT NULL,
  state text NOT NULL,
  decided_by text CHECK (decided_by IN ('human', 'automation')),
  subject text,
  message text,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  decided_at timestamptz,
  UNIQUE (session_id, call_id, arguments_digest, policy_digest)
);
CREATE INDEX approvals_waiting ON approvals (expires_at) WHERE state = 'waiting';

CREATE TABLE usage (
  id text PRIMARY KEY,
  session_id text NOT NULL REFERENCES sessions (id),
  attempt integer NOT NULL,
  provider text NOT NULL,
  model text NOT NULL,
  state text NOT NULL CHECK (state IN ('begun', 'settled', 'cut')),
  response_id text,
  input_tokens bigint NOT NULL DEFAULT 0,
  output_tokens bigint NOT NULL DEFAULT 0,
  cache_read_tokens bigint NOT NULL DEFAULT 0,
  cache_write_tokens bigint NOT NULL DEFAULT 0,
  cache_write_1h_tokens bigint NOT NULL DEFAULT 0,
  -- worst case held while the exchange runs, in US dollars
  reserved_usd numeric,
  -- null: unpriced, which is never zero
  cost_usd numeric,
  complete boolean,
  served_tier text,
  price_book text,
  begun_at timestamptz NOT NULL DEFAULT now(),
  settled_at timestamptz
);
CREATE INDEX usage_by_session ON usage (session_id);
CREATE INDEX usage_open ON usage (begun_at) WHERE state = 'begun';
CREATE UNIQUE INDEX usage_response ON usage (provider, response_id) WHERE response_id IS NOT NULL;

CREATE TABLE uploads (
  id text PRIMARY KEY,
  project_id text NOT NULL REFERENCES projects (id),
  owner text NOT NULL,
  sha256 text NOT NULL,
  bytes bigint NOT NULL,
  state text NOT NULL CHECK (state IN ('announced', 'stored', 'refused')),
  created_at timestamptz NOT NULL DEFAULT now(),
  completed_at timestamptz
);

CREATE TABLE diffs (
  session_id text PRIMARY KEY REFERENCES sessions (id),
  summary jsonb NOT NULL,
  patch bytea,
  object_sha256 text,
  state text NOT NULL CHECK (state IN ('offered', 'accepted', 'rejected', 'discarded')),
  decided_by text,
  decided_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now()
);

GRANT SELECT, INSERT, UPDATE, DELETE ON
  projects, agent_servers, sessions, idempotency_keys, attempts, outbox, session_events, tool_calls, approvals, usage,
  uploads, diffs TO lemniscate_app;

-- Down Migration
DROP TABLE diffs, uploads, usage, approvals, tool_calls, session_events, outbox, attempts, idempotency_keys, sessions,
  agent_servers, projects;
