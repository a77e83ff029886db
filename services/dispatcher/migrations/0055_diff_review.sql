-- Up Migration
-- A diff may be accepted in part, and may need several people.
ALTER TABLE diffs
  -- paths of the accepted files; null is the whole diff
  ADD COLUMN accepted_files jsonb;

-- A person's yes that is not the last one that is needed. All must mean the same files.
CREATE TABLE diff_votes (
  session_id text NOT NULL REFERENCES diffs (session_id),
  subject text NOT NULL,
  -- null is the whole diff
  files jsonb,
  voted_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (session_id, subject)
);
GRANT SELECT, INSERT, UPDATE ON diff_votes TO lemniscate_app;

-- Down Migration
DROP TABLE diff_votes;
ALTER TABLE diffs DROP COLUMN accepted_files;
