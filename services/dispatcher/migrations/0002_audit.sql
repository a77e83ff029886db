-- Up Migration
-- The audit log. An entry is the canonical JSON that was hashed, byte for byte; every other column repeats part of it.
-- Appending is one INSERT into audit_entries: a trigger that the application cannot go round checks the links, moves
-- the chain's head and puts the entries on the exporter's list.
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'lemniscate_exporter') THEN
    CREATE ROLE lemniscate_exporter NOLOGIN;
  END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
  -- roles belong to the cluster: another database of it was migrated at the same moment
  NULL;
END $$;
DO $$ BEGIN
  IF NOT pg_has_role(current_user, 'lemniscate_exporter', 'MEMBER') THEN
    EXECUTE format('GRANT lemniscate_exporter TO %I', current_user);
  END IF;
END $$;

CREATE TABLE audit_entries (
  chain text NOT NULL,
  seq bigint NOT NULL CHECK (seq > 0),
  prev bytea NOT NULL CHECK (length(prev) IN (0, 32)),
  digest bytea NOT NULL CHECK (length(digest) = 32),
  body bytea NOT NULL,
  type text NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (chain, seq)
);

CREATE TABLE audit_chains (
  chain text PRIMARY KEY,
  head_seq bigint NOT NULL,
  head_digest bytea NOT NULL,
  closed boolean NOT NULL,
  opened_at timestamptz NOT NULL
);

-- What has committed and has no place in the whole log yet. Ids ascend within a chain, for its writers take turns.
CREATE TABLE audit_pending (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  chain text NOT NULL,
  seq bigint NOT NULL
);

-- The order of the whole log: dense, given after the commit (a sequence would skip what commits late or never).
CREATE TABLE audit_log (
  index bigint PRIMARY KEY CHECK (index >= 0),
  chain text NOT NULL,
  seq bigint NOT NULL,
  UNIQUE (chain, seq)
);

CREATE TABLE audit_sinks (
  name text PRIMARY KEY,
  -- first index that the sink has not proved to have
  next_index bigint NOT NULL DEFAULT 0,
  updated_at timestamptz NOT NULL DEFAULT now()
);

-- The fleet's key for commitments: made here once, so that no set-up step can forget it.
CREATE TABLE audit_keys (
  name text PRIMARY KEY,
  key bytea NOT NULL CHECK (length(key) = 32),
  created_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO audit_keys (name, key)
VALUES ('commitment', sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));

CREATE FUNCTION audit_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  RAISE EXCEPTION '% is append-only: % is refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE FUNCTION audit_entries_added() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  batch record;
BEGIN
  -- one statement, for each costs about 15 microseconds in here
  SELECT count(*) AS entries, min(chain) AS chain, max(chain) AS other, min(seq) AS first, max(seq) AS last, min(at) AS at,
    (array_agg(prev ORDER BY seq))[1] AS prev, (array_agg(digest ORDER BY seq DESC))[1] AS digest,
    (array_agg(type ORDER BY seq DESC))[1] = 'chain.closed' AS closes
  INTO batch FROM added;
  IF batch.entries = 0 THEN RETURN NULL; END IF;
  IF batch.entries > 1 AND (batch.chain <> batch.other OR batch.last - batch.first + 1 <> batch.entries OR EXISTS (
    SELECT FROM (SELECT seq, prev, lag(digest) OVER (ORDER BY seq) AS before FROM added) link
    WHERE link.seq > batch.first AND link.prev <> link.before
  )) THEN
    RAISE EXCEPTION 'audit entries of % are not linked', batch.chain USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF batch.first = 1 AND batch.prev = '' THEN
    INSERT INTO audit_chains (chain, head_seq, head_digest, closed, opened_at)
    VALUES (batch.chain, batch.last, batch.digest, batch.closes, batch.at);
  ELSE
    UPDATE audit_chains SET head_seq = batch.last, head_digest = batch.digest, closed = batch.closes
    WHERE chain = batch.chain AND head_seq = batch.first - 1 AND head_digest = batch.prev AND NOT closed;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'audit entry % of % does not follow the head of its chain', batch.first, batch.chain
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;
  END IF;
  INSERT INTO audit_pending (chain, seq) SELECT chain, seq FROM added ORDER BY seq;
  RETURN NULL;
END $$;

-- The application may lock a chain (that needs a right to update some column) but not move its head itself.
CREATE FUNCTION audit_chains_forward() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF OLD.closed OR NEW.head_seq <= OLD.head_seq OR NEW.chain <> OLD.chain OR NEW.opened_at <> OLD.opened_at THEN
    RAISE EXCEPTION 'the head of audit chain % moves only forward', OLD.chain USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER added AFTER INSERT ON audit_entries REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION audit_entries_added();
CREATE TRIGGER forward BEFORE UPDATE ON audit_chains FOR EACH ROW EXECUTE FUNCTION audit_chains_forward();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_entries
  FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log
  FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_change();
CREATE TRIGGER append_only BEFORE DELETE OR TRUNCATE ON audit_chains
  FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_change();
-- ALWAYS: they fire for the owner and under session_replication_role = replica too
ALTER TABLE audit_entries ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE audit_entries ENABLE ALWAYS TRIGGER added;
ALTER TABLE audit_log ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE audit_chains ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE audit_chains ENABLE ALWAYS TRIGGER forward;

GRANT SELECT, INSERT ON audit_entries TO lemniscate_app;
GRANT SELECT, UPDATE (opened_at) ON audit_chains TO lemniscate_app;
GRANT SELECT ON audit_keys, audit_log, audit_sinks TO lemniscate_app;

GRANT SELECT ON audit_entries, audit_chains TO lemniscate_exporter;
GRANT SELECT, DELETE ON audit_pending TO lemniscate_exporter;
GRANT SELECT, INSERT ON audit_log TO lemniscate_exporter;
GRANT SELECT, INSERT, UPDATE ON audit_sinks TO lemniscate_exporter;

-- Down Migration
DROP TABLE audit_keys, audit_sinks, audit_log, audit_pending, audit_chains, audit_entries;
DROP FUNCTION audit_entries_added, audit_refuse_change, audit_chains_forward;
