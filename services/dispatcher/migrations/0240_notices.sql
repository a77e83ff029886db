-- Up Migration
-- Where people are told of what happens: webhooks, Slack, e-mail. Secrets are credentials, encrypted.
CREATE TABLE notify_targets (
  id text PRIMARY KEY,
  -- '*': of every project
  project_id text NOT NULL,
  version integer NOT NULL DEFAULT 1,
  definition jsonb NOT NULL,
  enabled boolean NOT NULL,
  disabled_reason text,
  changed_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX notify_targets_by_project ON notify_targets (project_id) WHERE enabled;

-- What is to be told: written by the transaction in which it happens, delivered behind its commit.
CREATE TABLE notices (
  id text PRIMARY KEY DEFAULT 'msg_' || replace(gen_random_uuid()::text, '-', ''),
  number bigint GENERATED ALWAYS AS IDENTITY,
  target_id text NOT NULL REFERENCES notify_targets (id) ON DELETE CASCADE,
  type text NOT NULL,
  payload jsonb NOT NULL,
  -- one message a target for one thing
  about text NOT NULL,
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'failed')),
  tries integer NOT NULL DEFAULT 0,
  due_at timestamptz NOT NULL DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT now(),
  delivered_at timestamptz,
  UNIQUE (target_id, about)
);
CREATE INDEX notices_due ON notices (due_at) WHERE state = 'pending';
CREATE INDEX notices_by_target ON notices (target_id, number);
CREATE INDEX notices_by_age ON notices (created_at);

CREATE TABLE notice_attempts (
  notice_id text NOT NULL REFERENCES notices (id) ON DELETE CASCADE,
  number integer NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  status integer,
  duration_ms integer NOT NULL,
  fault text,
  PRIMARY KEY (notice_id, number)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON notify_targets, notices, notice_attempts TO lemniscate_app;

-- Down Migration
DROP TABLE notice_attempts, notices, notify_targets;
