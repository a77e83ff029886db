-- Up Migration
-- Every version of a project's policy, as it was written and as it is evaluated. Sessions keep the one they froze.
CREATE TABLE project_policies (
  project_id text NOT NULL REFERENCES projects (id),
  version integer NOT NULL,
  -- the author's own text; null for a policy that came as a record
  written text,
  policy jsonb NOT NULL,
  policy_digest text NOT NULL,
  -- file: the fleet's default policy file at a start
  origin text NOT NULL CHECK (origin IN ('api', 'file')),
  changed_by text NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (project_id, version)
);
INSERT INTO project_policies (project_id, version, policy, policy_digest, origin, changed_by, changed_at)
SELECT id, version, policy, policy_digest, 'file', 'fleet', created_at FROM projects;

GRANT SELECT, INSERT ON project_policies TO lemniscate_app;

-- Down Migration
DROP TABLE project_policies;
