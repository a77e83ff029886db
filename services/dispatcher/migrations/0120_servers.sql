-- Up Migration
-- What an operator and the fleet's own observation say of a server, beside its own word.
ALTER TABLE agent_servers
  ADD COLUMN drained_at timestamptz,
  ADD COLUMN drained_by text,
  -- what runs there after this is moved to another server
  ADD COLUMN drain_deadline timestamptz,
  -- sessions in a row that did not start there, and how the last one failed
  ADD COLUMN start_failures integer NOT NULL DEFAULT 0,
  ADD COLUMN last_failure text,
  ADD COLUMN last_failure_at timestamptz,
  ADD COLUMN excluded_until timestamptz,
  -- measured by the last probe: how long it took to answer, how far its clock is ahead
  ADD COLUMN answer_ms integer,
  ADD COLUMN clock_ahead_ms bigint,
  -- slots that a newcomer may use until it has proved itself or somebody has approved it
  ADD COLUMN clamp integer,
  -- false: its address was taken out of the list
  ADD COLUMN listed boolean NOT NULL DEFAULT true;

CREATE TABLE server_invitations (
  token_hash text PRIMARY KEY,
  pool text NOT NULL,
  capacity integer NOT NULL,
  -- of the public key's SPKI form, sha256 in hex: only the holder of its private key can use the certificate
  key_digest text NOT NULL,
  invited_by text NOT NULL,
  expires_at timestamptz NOT NULL,
  used_by text,
  used_at timestamptz
);
GRANT SELECT, INSERT, UPDATE, DELETE ON server_invitations TO lemniscate_app;

-- Pools that fill one server after the other, so that the emptiest can be switched off.
CREATE TABLE pool_settings (
  pool text PRIMARY KEY,
  packing boolean NOT NULL
);
GRANT SELECT, INSERT, UPDATE, DELETE ON pool_settings TO lemniscate_app;

-- Down Migration
DROP TABLE pool_settings, server_invitations;
ALTER TABLE agent_servers DROP COLUMN drained_at, DROP COLUMN drained_by, DROP COLUMN drain_deadline,
  DROP COLUMN start_failures, DROP COLUMN last_failure, DROP COLUMN last_failure_at, DROP COLUMN excluded_until,
  DROP COLUMN answer_ms, DROP COLUMN clock_ahead_ms, DROP COLUMN clamp, DROP COLUMN listed;
