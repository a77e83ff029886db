-- Up Migration
-- What each dispatcher names as the fleet's servers, and when it last said so: the list outlives the process that read it.
CREATE TABLE agent_server_lists (
  dispatcher text PRIMARY KEY,
  -- [{"url", "pool", "capacity"}], and a digest of it, by which equal lists are read once
  servers jsonb NOT NULL,
  digest text NOT NULL,
  -- of two lists that say different things of one address the younger counts
  changed_at timestamptz NOT NULL DEFAULT now(),
  named_at timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT, INSERT, UPDATE, DELETE ON agent_server_lists TO lemniscate_app;

ALTER TABLE agent_servers
  -- 'joined': it needs no line in a list. The default is what a dispatcher of the version before inserts for a join
  ADD COLUMN origin text NOT NULL DEFAULT 'joined' CHECK (origin IN ('list', 'joined')),
  -- when a probe was last answered; how often in a row none was since then, and how the last one failed
  ADD COLUMN probed_at timestamptz,
  ADD COLUMN probe_failures integer NOT NULL DEFAULT 0,
  ADD COLUMN probe_failure text;
UPDATE agent_servers SET origin = 'list'
WHERE pinned_to IS NULL AND id NOT IN (SELECT used_by FROM server_invitations WHERE used_by IS NOT NULL);

-- Down Migration
ALTER TABLE agent_servers DROP COLUMN origin, DROP COLUMN probed_at, DROP COLUMN probe_failures,
  DROP COLUMN probe_failure;
DROP TABLE agent_server_lists;
