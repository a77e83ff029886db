-- Up Migration
-- Dispatchers that relay model exchanges say that they are alive; what a dead one left open is settled by another.
CREATE TABLE gateways (
  id text PRIMARY KEY,
  seen_at timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT, INSERT, UPDATE, DELETE ON gateways TO lemniscate_app;

ALTER TABLE usage
  -- the process that relays the exchange
  ADD COLUMN gateway text,
  ADD COLUMN endpoint text,
  -- whose prices hold, where it is not the provider's own name
  ADD COLUMN prices text,
  -- the model that was asked for, where the policy's fallback answered instead
  ADD COLUMN fallback_for text;

-- Down Migration
ALTER TABLE usage DROP COLUMN gateway, DROP COLUMN endpoint, DROP COLUMN prices, DROP COLUMN fallback_for;
DROP TABLE gateways;
