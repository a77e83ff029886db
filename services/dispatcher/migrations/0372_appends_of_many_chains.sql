-- Up Migration
-- One entry for each of many chains, as a batch of openings or of attempts appends them. Inserted plainly, each entry cost a
-- trigger with three statements of its own, which was most of what the audit log cost a session.
CREATE FUNCTION audit_append_each(
  of_chains text[], last_seqs bigint[],
  -- 32 bytes an entry, zeros where the chain is opened; all bodies one behind the other
  last_digests bytea, digests bytea, bodies bytea, starts integer[], lengths integer[], types text[], of_time timestamptz
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  added integer := array_length(of_chains, 1);
  moved integer;
BEGIN
  IF (array_length(last_seqs, 1), length(last_digests), length(digests), array_length(starts, 1), array_length(lengths, 1),
    array_length(types, 1)) IS DISTINCT FROM (added, 32 * added, 32 * added, added, added, added) THEN
    RAISE EXCEPTION 'audit entries of several chains have not one head, digest, body and type each'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF current_user <> 'lemniscate_appender' THEN
    -- the function has lost its owner (a restore without owners): the trigger moves the heads
    INSERT INTO audit_entries (chain, seq, prev, digest, body, type, at)
    SELECT chain, last_seq + 1, CASE last_seq WHEN 0 THEN ''::bytea ELSE substr(last_digests, 32 * place::integer - 31, 32) END,
      substr(digests, 32 * place::integer - 31, 32), substr(bodies, start, length), type, of_time
    FROM unnest(of_chains, last_seqs, starts, lengths, types) WITH ORDINALITY AS entry (chain, last_seq, start, length, type, place);
    RETURN;
  END IF;
  WITH given AS MATERIALIZED (
    SELECT chain, last_seq, type = 'chain.closed' AS closes,
      substr(last_digests, 32 * place::integer - 31, 32) AS last_digest, substr(digests, 32 * place::integer - 31, 32) AS digest
    FROM unnest(of_chains, last_seqs, types) WITH ORDINALITY AS head (chain, last_seq, type, place)
  ), opened AS (
    INSERT INTO audit_chains (chain, head_seq, head_digest, closed, opened_at)
    SELECT chain, 1, digest, closes, of_time FROM given WHERE last_seq = 0 RETURNING chain
  ), extended AS (
    UPDATE audit_chains c SET head_seq = c.head_seq + 1, head_digest = given.digest, closed = given.closes
    FROM given WHERE last_seq > 0 AND c.chain = given.chain AND c.head_seq = given.last_seq
      AND c.head_digest = given.last_digest AND NOT c.closed RETURNING c.chain
  ) SELECT (SELECT count(*) FROM opened) + (SELECT count(*) FROM extended) INTO moved;
  IF moved <> added THEN
    RAISE EXCEPTION '% of % audit entries do not follow the head of their chain', added - moved, added
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  INSERT INTO audit_entries (chain, seq, prev, digest, body, type, at)
  SELECT chain, last_seq + 1, CASE last_seq WHEN 0 THEN ''::bytea ELSE substr(last_digests, 32 * place::integer - 31, 32) END,
    substr(digests, 32 * place::integer - 31, 32), substr(bodies, start, length), type, of_time
  FROM unnest(of_chains, last_seqs, starts, lengths, types) WITH ORDINALITY AS entry (chain, last_seq, start, length, type, place);
  INSERT INTO audit_pending (chain, seq) SELECT chain, last_seq + 1 FROM unnest(of_chains, last_seqs) AS entry (chain, last_seq);
END $$;
REVOKE ALL ON FUNCTION audit_append_each FROM PUBLIC;
GRANT EXECUTE ON FUNCTION audit_append_each TO lemniscate_app;

DO $$
DECLARE
  of_schema text := current_schema;
  is_superuser boolean := (SELECT rolsuper FROM pg_roles WHERE rolname = current_user);
BEGIN
  -- an owner who is no superuser must be a member to give something away, and stays none
  IF NOT is_superuser THEN EXECUTE format('GRANT lemniscate_appender TO %I', current_user); END IF;
  EXECUTE format('GRANT CREATE ON SCHEMA %I TO lemniscate_appender', of_schema);
  ALTER FUNCTION audit_append_each OWNER TO lemniscate_appender;
  EXECUTE format('REVOKE CREATE ON SCHEMA %I FROM lemniscate_appender', of_schema);
  IF NOT is_superuser THEN EXECUTE format('REVOKE lemniscate_appender FROM %I', current_user); END IF;
END $$;

-- Who opens sessions gives their turns' place as well; the trigger is there for all who do not.
DROP TRIGGER outbox_take_place ON outbox;
CREATE TRIGGER outbox_take_place BEFORE INSERT ON outbox FOR EACH ROW
  WHEN (NEW.lane IS NULL OR NEW.placement_class IS NULL OR NEW.queue_key IS NULL) EXECUTE FUNCTION outbox_take_place();

-- Down Migration
DROP TRIGGER outbox_take_place ON outbox;
CREATE TRIGGER outbox_take_place BEFORE INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION outbox_take_place();
DROP FUNCTION audit_append_each;
