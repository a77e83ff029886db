-- Up Migration
-- The seal over the whole log: a Merkle tree whose leaves are the entries' digests in the order of their indexes, and
-- checkpoints of it. A checkpoint's row commits before it is signed, so that no two of one number can be published.
CREATE TABLE audit_identity (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  -- the log's name in every checkpoint: a checkpoint of another fleet proves nothing about this one
  origin text NOT NULL
);
INSERT INTO audit_identity (origin)
VALUES ('lemniscate.audit/' || substr(replace(gen_random_uuid()::text, '-', ''), 1, 16));

CREATE TABLE audit_log_keys (
  place integer PRIMARY KEY CHECK (place >= 0),
  -- public, as NAME+KEYHASH+BASE64
  key text NOT NULL UNIQUE,
  -- the entry of the chain log:main that handed the log over to this key; NULL for the first
  seq bigint CHECK ((seq IS NULL) = (place = 0)),
  since timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE audit_checkpoints (
  number bigint PRIMARY KEY CHECK (number >= 0),
  epoch integer NOT NULL CHECK (epoch >= 0),
  size bigint NOT NULL CHECK (size >= 0),
  root bytea NOT NULL CHECK (length(root) = 32),
  -- roots of the perfect subtrees, largest first: what the next checkpoint goes on from
  frontier bytea NOT NULL CHECK (length(frontier) % 32 = 0),
  at timestamptz NOT NULL,
  -- the signed note; NULL between commit and signature
  note text
);

-- Level 0 holds leaf hashes, level n the roots of the full tiles of level n - 1; 256 hashes a tile.
CREATE TABLE audit_tiles (
  level smallint NOT NULL CHECK (level >= 0),
  number bigint NOT NULL CHECK (number >= 0),
  hashes bytea NOT NULL CHECK (length(hashes) % 32 = 0 AND length(hashes) <= 8192),
  PRIMARY KEY (level, number)
);
-- hashes do not compress
ALTER TABLE audit_tiles ALTER COLUMN hashes SET STORAGE EXTERNAL;

-- What a receiver refuses for good is kept here and told by an entry; everything behind it goes on.
CREATE TABLE audit_dead_letters (
  sink text NOT NULL,
  index bigint NOT NULL,
  reason text NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (sink, index)
);

ALTER TABLE audit_sinks ADD COLUMN next_checkpoint bigint NOT NULL DEFAULT 0;

CREATE FUNCTION audit_checkpoints_step() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  last audit_checkpoints%ROWTYPE;
BEGIN
  IF TG_OP = 'UPDATE' THEN
    IF OLD.note IS NOT NULL OR NEW.note IS NULL OR (NEW.number, NEW.epoch, NEW.size, NEW.root, NEW.frontier, NEW.at)
      IS DISTINCT FROM (OLD.number, OLD.epoch, OLD.size, OLD.root, OLD.frontier, OLD.at) THEN
      RAISE EXCEPTION 'checkpoint % can be signed once and not be changed', OLD.number USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
  END IF;
  SELECT * INTO last FROM audit_checkpoints ORDER BY number DESC LIMIT 1;
  IF NOT FOUND THEN
    IF NEW.number = 0 OR NEW.epoch > 0 THEN RETURN NEW; END IF;
  ELSIF NEW.number = last.number + 1 AND NEW.epoch = last.epoch AND NEW.size >= last.size THEN
    RETURN NEW;
  ELSIF NEW.number > last.number AND NEW.epoch > last.epoch THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'checkpoint % does not follow the last one', NEW.number USING ERRCODE = 'integrity_constraint_violation';
END $$;

CREATE FUNCTION audit_tiles_grow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF (NEW.level, NEW.number) <> (OLD.level, OLD.number) OR substr(NEW.hashes, 1, length(OLD.hashes)) <> OLD.hashes THEN
    RAISE EXCEPTION 'a tile of the audit log only grows' USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END $$;

-- The exporter may write to one chain, the one in which the log speaks of itself, and to no other.
CREATE FUNCTION audit_append_to_log_chain(
  new_seq bigint[], new_prev bytea[], new_digest bytea[], new_body bytea[], new_type text[], new_at timestamptz[]
) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
  INSERT INTO audit_entries (chain, seq, prev, digest, body, type, at)
  SELECT 'log:main', * FROM unnest(new_seq, new_prev, new_digest, new_body, new_type, new_at);
$$;
REVOKE ALL ON FUNCTION audit_append_to_log_chain FROM PUBLIC;
GRANT EXECUTE ON FUNCTION audit_append_to_log_chain TO lemniscate_exporter;

CREATE TRIGGER step BEFORE INSERT OR UPDATE ON audit_checkpoints FOR EACH ROW EXECUTE FUNCTION audit_checkpoints_step();
CREATE TRIGGER append_only BEFORE DELETE OR TRUNCATE ON audit_checkpoints
  FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_change();
CREATE TRIGGER grow BEFORE UPDATE ON audit_tiles FOR EACH ROW EXECUTE FUNCTION audit_tiles_grow();
CREATE TRIGGER append_only BEFORE DELETE OR TRUNCATE ON audit_tiles
  FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log_keys
  FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_dead_letters
  FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_change();
ALTER TABLE audit_checkpoints ENABLE ALWAYS TRIGGER step;
ALTER TABLE audit_checkpoints ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE audit_tiles ENABLE ALWAYS TRIGGER grow;
ALTER TABLE audit_tiles ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE audit_log_keys ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE audit_dead_letters ENABLE ALWAYS TRIGGER append_only;

GRANT SELECT ON audit_identity, audit_log_keys, audit_checkpoints, audit_tiles, audit_dead_letters TO lemniscate_app;
GRANT SELECT ON audit_identity TO lemniscate_exporter;
GRANT SELECT, INSERT ON audit_log_keys, audit_dead_letters TO lemniscate_exporter;
GRANT SELECT, INSERT, UPDATE (note) ON audit_checkpoints TO lemniscate_exporter;
GRANT SELECT, INSERT, UPDATE (hashes) ON audit_tiles TO lemniscate_exporter;

-- Down Migration
ALTER TABLE audit_sinks DROP COLUMN next_checkpoint;
DROP TABLE audit_dead_letters, audit_tiles, audit_checkpoints, audit_log_keys, audit_identity;
DROP FUNCTION audit_append_to_log_chain, audit_tiles_grow, audit_checkpoints_step;
