-- Up Migration
-- The same checks as before in one pass over the new rows: with a batch of two, three sorts and eight aggregates were a
-- third of what the trigger cost (measured: 107 to 77 microseconds an insert, of which the plain insert is 30).
CREATE OR REPLACE FUNCTION audit_entries_added() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
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

-- Down Migration
CREATE OR REPLACE FUNCTION audit_entries_added() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
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
