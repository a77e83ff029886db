-- Up Migration
-- Ranges of the log that a receiver is to get again: what it lost, or what lies before the place where it began.
CREATE TABLE audit_resends (
  id text PRIMARY KEY,
  sink text NOT NULL,
  from_index bigint NOT NULL CHECK (from_index >= 0),
  -- the first that is not sent any more
  to_index bigint NOT NULL,
  next_index bigint NOT NULL,
  requested_at timestamptz NOT NULL DEFAULT now(),
  done_at timestamptz,
  -- why it was not done
  refused text,
  CHECK (from_index < to_index AND next_index BETWEEN from_index AND to_index)
);
CREATE INDEX audit_resends_open ON audit_resends (sink, requested_at) WHERE done_at IS NULL;

GRANT SELECT, INSERT ON audit_resends TO lemniscate_app;
GRANT SELECT, UPDATE (next_index, done_at, refused) ON audit_resends TO lemniscate_exporter;

-- Down Migration
DROP TABLE audit_resends;
