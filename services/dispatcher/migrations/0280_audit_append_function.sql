-- Up Migration
-- Appending by a function that makes the links itself: its caller names the end of the chain as he knows it, and places and
-- links of the new entries follow from it, so that nothing is left to be checked behind the insert. The trigger stays for
-- whoever inserts without the function (dispatchers of the version before, an owner by hand), now row by row: a transition
-- table would be filled for the function's rows as well. Measured: docs/decisions/2026-11-29-audit-speed.md.
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'lemniscate_appender') THEN
    CREATE ROLE lemniscate_appender NOLOGIN;
  END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
  -- roles belong to the cluster: another database of it was migrated at the same moment
  NULL;
END $$;

CREATE FUNCTION audit_append(
  of_chain text, last_seq bigint, last_digest bytea,
  -- 32 bytes an entry; all bodies one behind the other, with the start (from 1) and the length of each
  digests bytea, bodies bytea, starts integer[], lengths integer[], types text[], of_time timestamptz
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  added integer := array_length(types, 1);
  new_digest bytea := substr(digests, 32 * added - 31);
  closes boolean := types[added] = 'chain.closed';
BEGIN
  IF (length(digests), array_length(starts, 1), array_length(lengths, 1)) IS DISTINCT FROM (32 * added, added, added) THEN
    RAISE EXCEPTION 'audit entries of % have not one digest, body and type each', of_chain
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF current_user <> 'lemniscate_appender' THEN
    -- the function has lost its owner (a restore without owners): the trigger moves the head
    PERFORM FROM audit_chains
    WHERE chain = of_chain AND head_seq = last_seq AND head_digest = last_digest AND NOT closed FOR UPDATE;
    IF NOT FOUND AND last_seq > 0 THEN RETURN false; END IF;
  ELSIF last_seq = 0 THEN
    INSERT INTO audit_chains (chain, head_seq, head_digest, closed, opened_at)
    VALUES (of_chain, added, new_digest, closes, of_time);
  ELSE
    UPDATE audit_chains SET head_seq = last_seq + added, head_digest = new_digest, closed = closes
    WHERE chain = of_chain AND head_seq = last_seq AND head_digest = last_digest AND NOT closed;
    IF NOT FOUND THEN
      -- its caller reads the true end next, and nobody may move it meanwhile
      PERFORM FROM audit_chains WHERE chain = of_chain FOR UPDATE;
      RETURN false;
    END IF;
  END IF;
  IF added = 1 THEN
    INSERT INTO audit_entries (chain, seq, prev, digest, body, type, at)
    VALUES (of_chain, last_seq + 1, last_digest, digests, bodies, types[1], of_time);
  ELSE
    INSERT INTO audit_entries (chain, seq, prev, digest, body, type, at)
    SELECT of_chain, last_seq + place,
      CASE place WHEN 1 THEN last_digest ELSE substr(digests, 32 * place::integer - 63, 32) END,
      substr(digests, 32 * place::integer - 31, 32), substr(bodies, start, length), type, of_time
    FROM unnest(starts, lengths, types) WITH ORDINALITY AS entry (start, length, type, place);
  END IF;
  IF current_user = 'lemniscate_appender' THEN
    INSERT INTO audit_pending (chain, seq)
    SELECT of_chain, last_seq + place FROM unnest(lengths) WITH ORDINALITY AS entry (length, place);
  END IF;
  RETURN true;
END $$;
REVOKE ALL ON FUNCTION audit_append FROM PUBLIC;
GRANT EXECUTE ON FUNCTION audit_append TO lemniscate_app;
GRANT INSERT ON audit_entries, audit_pending TO lemniscate_appender;
GRANT SELECT, INSERT, UPDATE ON audit_chains TO lemniscate_appender;

-- The function runs as a role that nothing else runs as: by it the triggers tell the function's rows from others.
DO $$
DECLARE
  of_schema text := current_schema;
  is_superuser boolean := (SELECT rolsuper FROM pg_roles WHERE rolname = current_user);
BEGIN
  -- an owner who is no superuser must be a member to give something away, and stays none
  IF NOT is_superuser THEN
    EXECUTE format('GRANT lemniscate_appender TO %I', current_user);
    -- and the exporter's role, which such an owner had been taken to have already
    EXECUTE format('GRANT lemniscate_exporter TO %I', current_user);
  END IF;
  EXECUTE format('GRANT USAGE, CREATE ON SCHEMA %I TO lemniscate_appender', of_schema);
  ALTER FUNCTION audit_append OWNER TO lemniscate_appender;
  EXECUTE format('REVOKE CREATE ON SCHEMA %I FROM lemniscate_appender', of_schema);
  IF NOT is_superuser THEN EXECUTE format('REVOKE lemniscate_appender FROM %I', current_user); END IF;
END $$;

CREATE FUNCTION audit_entry_added() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  IF NEW.seq = 1 AND NEW.prev = '' THEN
    INSERT INTO audit_chains (chain, head_seq, head_digest, closed, opened_at)
    VALUES (NEW.chain, NEW.seq, NEW.digest, NEW.type = 'chain.closed', NEW.at);
  ELSE
    UPDATE audit_chains SET head_seq = NEW.seq, head_digest = NEW.digest, closed = NEW.type = 'chain.closed'
    WHERE chain = NEW.chain AND head_seq = NEW.seq - 1 AND head_digest = NEW.prev AND NOT closed;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'audit entry % of % does not follow the head of its chain', NEW.seq, NEW.chain
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;
  END IF;
  INSERT INTO audit_pending (chain, seq) VALUES (NEW.chain, NEW.seq);
  RETURN NULL;
END $$;
DROP TRIGGER added ON audit_entries;
DROP FUNCTION audit_entries_added;
CREATE TRIGGER added AFTER INSERT ON audit_entries FOR EACH ROW
  WHEN (current_user <> 'lemniscate_appender') EXECUTE FUNCTION audit_entry_added();
DROP TRIGGER forward ON audit_chains;
CREATE TRIGGER forward BEFORE UPDATE ON audit_chains FOR EACH ROW
  WHEN (current_user <> 'lemniscate_appender') EXECUTE FUNCTION audit_chains_forward();
ALTER TABLE audit_entries ENABLE ALWAYS TRIGGER added;
ALTER TABLE audit_chains ENABLE ALWAYS TRIGGER forward;
-- each append moves a head: with room beside it the new row needs no index entry of its own
ALTER TABLE audit_chains SET (fillfactor = 60);

-- Down Migration
ALTER TABLE audit_chains RESET (fillfactor);
DROP TRIGGER forward ON audit_chains;
CREATE TRIGGER forward BEFORE UPDATE ON audit_chains FOR EACH ROW EXECUTE FUNCTION audit_chains_forward();
DROP TRIGGER added ON audit_entries;
DROP FUNCTION audit_entry_added;
DROP FUNCTION audit_append;
REVOKE ALL ON audit_entries, audit_pending, audit_chains FROM lemniscate_appender;
CREATE FUNCTION audit_entries_added() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  entry record;
  of_chain text;
  first_seq bigint;
  first_prev bytea;
  first_at timestamptz;
  last_seq bigint;
  last_digest bytea;
  closes boolean;
BEGIN
  FOR entry IN SELECT chain, seq, prev, digest, type, at FROM added ORDER BY seq LOOP
    IF first_seq IS NULL THEN
      of_chain := entry.chain;
      first_seq := entry.seq;
      first_prev := entry.prev;
      first_at := entry.at;
    ELSIF entry.chain <> of_chain OR entry.seq <> last_seq + 1 OR entry.prev <> last_digest THEN
      RAISE EXCEPTION 'audit entries of % are not linked', of_chain USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    last_seq := entry.seq;
    last_digest := entry.digest;
    closes := entry.type = 'chain.closed';
  END LOOP;
  IF first_seq IS NULL THEN RETURN NULL; END IF;
  IF first_seq = 1 AND first_prev = '' THEN
    INSERT INTO audit_chains (chain, head_seq, head_digest, closed, opened_at)
    VALUES (of_chain, last_seq, last_digest, closes, first_at);
  ELSE
    UPDATE audit_chains SET head_seq = last_seq, head_digest = last_digest, closed = closes
    WHERE chain = of_chain AND head_seq = first_seq - 1 AND head_digest = first_prev AND NOT closed;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'audit entry % of % does not follow the head of its chain', first_seq, of_chain
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;
  END IF;
  INSERT INTO audit_pending (chain, seq) SELECT of_chain, generate_series(first_seq, last_seq);
  RETURN NULL;
END $$;
CREATE TRIGGER added AFTER INSERT ON audit_entries REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION audit_entries_added();
ALTER TABLE audit_entries ENABLE ALWAYS TRIGGER added;
ALTER TABLE audit_chains ENABLE ALWAYS TRIGGER forward;
