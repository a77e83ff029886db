-- Up Migration
-- What gives a right or ends a precaution names the version that was seen: else it undoes what somebody did meanwhile.
-- Rows of these are made and removed, never changed: a version of the one sequence at their making is enough.
ALTER TABLE role_bindings ADD COLUMN version integer NOT NULL DEFAULT nextval('setting_versions');
ALTER TABLE intake_pauses ADD COLUMN version integer NOT NULL DEFAULT nextval('setting_versions');
ALTER TABLE revoked_users ADD COLUMN version integer NOT NULL DEFAULT nextval('setting_versions');

ALTER TABLE agent_servers ADD COLUMN version integer NOT NULL DEFAULT nextval('setting_versions');
-- what an operator decides about, by whomever it was changed; heartbeats and counters are nobody's decision
CREATE TRIGGER agent_servers_version BEFORE UPDATE ON agent_servers FOR EACH ROW
  WHEN ((OLD.drained_at, OLD.drained_by, OLD.drain_deadline, OLD.clamp, OLD.excluded_until)
    IS DISTINCT FROM (NEW.drained_at, NEW.drained_by, NEW.drain_deadline, NEW.clamp, NEW.excluded_until))
  EXECUTE FUNCTION next_setting_version();

-- a credential that was removed and set again counted from 1 once more
ALTER TABLE credentials ALTER COLUMN version SET DEFAULT nextval('setting_versions');
CREATE TRIGGER credentials_version BEFORE UPDATE ON credentials
  FOR EACH ROW EXECUTE FUNCTION next_setting_version();
-- above every version that a row made before has
SELECT setval('setting_versions', greatest(nextval('setting_versions'), (SELECT coalesce(max(version), 0) FROM credentials)));

-- Down Migration
DROP TRIGGER credentials_version ON credentials;
ALTER TABLE credentials ALTER COLUMN version SET DEFAULT 1;
DROP TRIGGER agent_servers_version ON agent_servers;
ALTER TABLE agent_servers DROP COLUMN version;
ALTER TABLE revoked_users DROP COLUMN version;
ALTER TABLE intake_pauses DROP COLUMN version;
ALTER TABLE role_bindings DROP COLUMN version;
