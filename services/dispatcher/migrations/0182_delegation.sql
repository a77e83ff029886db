-- Up Migration
-- A sub-agent's session. It belongs to one call of its parent, by the digest of the arguments, never to an attempt.
ALTER TABLE sessions
  -- no foreign key: its check would lock the parent while the child is locked, and locks go the other way
  ADD COLUMN parent_id text,
  -- from the one that a person opened down to the parent
  ADD COLUMN ancestors text[] NOT NULL DEFAULT '{}',
  ADD COLUMN delegated_call text,
  ADD COLUMN delegated_digest text,
  -- its parent has read its report and counted what it used
  ADD COLUMN reported_at timestamptz,
  -- what ended sub-agents, and theirs, have used of this session's budget
  ADD COLUMN delegated_tokens bigint NOT NULL DEFAULT 0,
  ADD COLUMN delegated_usd numeric NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX sessions_delegated_call ON sessions (parent_id, delegated_call, delegated_digest)
  WHERE parent_id IS NOT NULL;
CREATE INDEX sessions_ancestors ON sessions USING gin (ancestors) WHERE parent_id IS NOT NULL;

-- Down Migration
ALTER TABLE sessions DROP COLUMN delegated_usd, DROP COLUMN delegated_tokens, DROP COLUMN reported_at,
  DROP COLUMN delegated_digest, DROP COLUMN delegated_call, DROP COLUMN ancestors, DROP COLUMN parent_id;
