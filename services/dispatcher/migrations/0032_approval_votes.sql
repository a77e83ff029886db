-- Up Migration
-- An approval may need several people. Each has one vote; the approval itself is decided by the last one or by a no.
ALTER TABLE approvals
  ADD COLUMN people integer NOT NULL DEFAULT 1,
  -- what an approval "for this session" covers, as the person is shown it
  ADD COLUMN pattern text NOT NULL DEFAULT '';

CREATE TABLE approval_votes (
  approval_id text NOT NULL REFERENCES approvals (id),
  subject text NOT NULL,
  scope text NOT NULL CHECK (scope IN ('once', 'session')),
  voted_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (approval_id, subject)
);

-- Yes for the rest of the session, to calls of one tool with exactly this pattern, under exactly this policy.
CREATE TABLE session_grants (
  session_id text NOT NULL REFERENCES sessions (id),
  tool text NOT NULL,
  pattern text NOT NULL,
  policy_digest text NOT NULL,
  approval_id text NOT NULL REFERENCES approvals (id),
  subject text NOT NULL,
  granted_at timestamptz NOT NULL DEFAULT now()
);
-- a command may be longer than an index row
CREATE UNIQUE INDEX session_grants_pattern ON session_grants (session_id, tool, md5(pattern), policy_digest);

GRANT SELECT, INSERT ON approval_votes, session_grants TO lemniscate_app;

-- Down Migration
DROP TABLE session_grants, approval_votes;
ALTER TABLE approvals DROP COLUMN pattern, DROP COLUMN people;
