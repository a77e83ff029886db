-- Up Migration
-- Values that agents and MCP servers log in with. Each is encrypted under a key of its own, which the fleet's master key
-- wraps; whoever reads the record reads none of them.
CREATE TABLE credentials (
  owner_kind text NOT NULL CHECK (owner_kind IN ('agent', 'mcp_server')),
  owner_id text NOT NULL,
  name text NOT NULL,
  version integer NOT NULL DEFAULT 1,
  wrapped bytea NOT NULL,
  master_key text NOT NULL,
  sealed bytea NOT NULL,
  changed_by text NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (owner_kind, owner_id, name)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON credentials TO lemniscate_app;

-- Down Migration
DROP TABLE credentials;
