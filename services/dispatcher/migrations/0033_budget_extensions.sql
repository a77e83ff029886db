-- Up Migration
-- Questions to the person of an interactive session whose budget is used up, and what was answered.
CREATE TABLE budget_extensions (
  session_id text NOT NULL REFERENCES sessions (id),
  number integer NOT NULL,
  -- reason of the end that follows if nobody extends
  cause text NOT NULL,
  state text NOT NULL CHECK (state IN ('waiting', 'granted', 'declined', 'expired', 'withdrawn')),
  -- what had been used, and what the extension grants: {"actions", "minutes"}
  used jsonb NOT NULL,
  grants jsonb NOT NULL,
  subject text,
  decided_by text CHECK (decided_by IN ('human', 'automation')),
  asked_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  decided_at timestamptz,
  PRIMARY KEY (session_id, number)
);
CREATE UNIQUE INDEX budget_extensions_open ON budget_extensions (session_id) WHERE state = 'waiting';
CREATE INDEX budget_extensions_waiting ON budget_extensions (expires_at) WHERE state = 'waiting';

ALTER TABLE sessions
  ADD COLUMN extensions_used integer NOT NULL DEFAULT 0,
  -- bounds that the client asked for: only tighter ones than the policy's count
  ADD COLUMN bounds jsonb,
  -- where the minutes count from, if not from the beginning of the work
  ADD COLUMN budget_from timestamptz,
  -- the one exchange for the last words of a session that has used up its budget
  ADD COLUMN summary_at timestamptz;

GRANT SELECT, INSERT, UPDATE ON budget_extensions TO lemniscate_app;

-- Down Migration
ALTER TABLE sessions DROP COLUMN summary_at, DROP COLUMN budget_from, DROP COLUMN bounds, DROP COLUMN extensions_used;
DROP TABLE budget_extensions;
