-- Up Migration
-- Schedules and filters that start sessions in their owner's name.
CREATE TABLE triggers (
  id text PRIMARY KEY,
  project_id text NOT NULL REFERENCES projects (id),
  version integer NOT NULL DEFAULT 1,
  kind text NOT NULL CHECK (kind IN ('cron', 'event')),
  owner text NOT NULL,
  definition jsonb NOT NULL,
  enabled boolean NOT NULL,
  disabled_reason text,
  next_slot timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  changed_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX triggers_due ON triggers (next_slot) WHERE enabled AND kind = 'cron';
CREATE INDEX triggers_by_project ON triggers (project_id, kind);

-- Each time of a schedule, once: across dispatchers and restarts.
CREATE TABLE schedule_slots (
  trigger_id text NOT NULL REFERENCES triggers (id) ON DELETE CASCADE,
  slot timestamptz NOT NULL,
  delivery_id text,
  fired_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (trigger_id, slot)
);

-- Where other systems send to. The secret is a credential, encrypted.
CREATE TABLE hooks (
  id text PRIMARY KEY,
  project_id text NOT NULL REFERENCES projects (id),
  version integer NOT NULL DEFAULT 1,
  source text NOT NULL,
  owner text NOT NULL,
  definition jsonb NOT NULL,
  enabled boolean NOT NULL,
  disabled_reason text,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX hooks_by_project ON hooks (project_id);

-- What has come before: by the sender's id, and by the bytes, for an id is not signed.
CREATE TABLE receipts (
  origin text NOT NULL,
  external_id text NOT NULL,
  body_digest text NOT NULL,
  received_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (origin, external_id),
  UNIQUE (origin, body_digest)
);
CREATE INDEX receipts_by_age ON receipts (received_at);

CREATE TABLE account_links (
  source text NOT NULL,
  account text NOT NULL,
  subject text NOT NULL,
  changed_by text NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (source, account)
);

ALTER TABLE deliveries ADD COLUMN member_by text;
-- answers of each other in the system that they are pictures of
ALTER TABLE object_comments ADD COLUMN thread text;
CREATE INDEX deliveries_by_hook ON deliveries (hook_id, created_at) WHERE hook_id IS NOT NULL;
ALTER TABLE credentials DROP CONSTRAINT credentials_owner_kind_check;
ALTER TABLE credentials ADD CONSTRAINT credentials_owner_kind_check
  CHECK (owner_kind IN ('agent', 'mcp_server', 'hook', 'notify_target'));

GRANT SELECT, INSERT, UPDATE, DELETE ON triggers, schedule_slots, hooks, receipts, account_links TO lemniscate_app;

-- Down Migration
DELETE FROM credentials WHERE owner_kind IN ('hook', 'notify_target');
ALTER TABLE credentials DROP CONSTRAINT credentials_owner_kind_check;
ALTER TABLE credentials ADD CONSTRAINT credentials_owner_kind_check CHECK (owner_kind IN ('agent', 'mcp_server'));
DROP INDEX deliveries_by_hook;
ALTER TABLE object_comments DROP COLUMN thread;
ALTER TABLE deliveries DROP COLUMN member_by;
DROP TABLE account_links, receipts, hooks, schedule_slots, triggers;
