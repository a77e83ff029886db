-- Up Migration
-- How long a project's content stays. A rule that is not there: for ever.
CREATE TABLE project_retention (
  project_id text PRIMARY KEY REFERENCES projects (id),
  rules jsonb NOT NULL,
  changed_by text NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT now()
);

-- While a hold stands, nothing of its project or session is removed, by a rule or by a person.
CREATE TABLE legal_holds (
  id text PRIMARY KEY,
  scope text NOT NULL CHECK (scope IN ('project', 'session')),
  of_id text NOT NULL,
  placed_by text NOT NULL,
  placed_at timestamptz NOT NULL DEFAULT now(),
  released_by text,
  released_at timestamptz
);
CREATE INDEX legal_holds_standing ON legal_holds (scope, of_id) WHERE released_at IS NULL;

ALTER TABLE sessions ADD COLUMN erased_at timestamptz;

-- Objects whose last row is gone. They are removed behind the commit, again and again until they are.
CREATE TABLE object_removals (
  key text PRIMARY KEY,
  since timestamptz NOT NULL DEFAULT now()
);

-- Keys of retained content: one a project, wrapped by the fleet's master key, and one a session, wrapped by its
-- project's. A shredded key is NULL: what it opened is noise from then on.
CREATE TABLE content_keys (
  scope text NOT NULL CHECK (scope IN ('project', 'session')),
  of_id text NOT NULL,
  project_id text NOT NULL,
  wrapped bytea,
  wrapped_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  shredded_at timestamptz,
  PRIMARY KEY (scope, of_id),
  CHECK ((wrapped IS NULL) = (shredded_at IS NOT NULL))
);

CREATE TABLE retained_content (
  session_id text NOT NULL,
  -- 0: instruction, messages, approvals, patch; then the events, a few MiB each
  part integer NOT NULL,
  project_id text NOT NULL,
  object_key text NOT NULL,
  -- of what lies in the bucket, encrypted
  sha256 text NOT NULL,
  bytes bigint NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (session_id, part)
);
CREATE INDEX retained_content_by_end ON retained_content (expires_at);

-- Costs are never changed, but for whose they were: a person may ask to be forgotten.
CREATE FUNCTION cost_entries_change_of_subject() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NEW.subject LIKE 'person:%' AND to_jsonb(NEW) - 'subject' = to_jsonb(OLD) - 'subject' THEN RETURN NEW; END IF;
  RAISE EXCEPTION 'cost_entries is append-only: % is refused', TG_OP USING ERRCODE = 'insufficient_privilege';
END $$;
DROP TRIGGER append_only ON cost_entries;
CREATE TRIGGER append_only BEFORE DELETE OR TRUNCATE ON cost_entries
  FOR EACH STATEMENT EXECUTE FUNCTION cost_entries_append_only();
CREATE TRIGGER change_of_subject BEFORE UPDATE ON cost_entries
  FOR EACH ROW EXECUTE FUNCTION cost_entries_change_of_subject();

GRANT SELECT, INSERT, UPDATE ON project_retention, legal_holds, content_keys TO lemniscate_app;
GRANT SELECT, INSERT, DELETE ON object_removals, retained_content TO lemniscate_app;
GRANT UPDATE (subject) ON cost_entries TO lemniscate_app;
GRANT UPDATE (subject) ON approval_votes, session_grants TO lemniscate_app;
GRANT DELETE ON session_grants, checkpoints TO lemniscate_app;
GRANT UPDATE (revoked_by) ON revoked_users TO lemniscate_app;
GRANT UPDATE (stopped_by) ON fleet_stops TO lemniscate_app;
GRANT UPDATE (changed_by) ON project_policies TO lemniscate_app;

-- Down Migration
DROP TRIGGER change_of_subject ON cost_entries;
DROP TRIGGER append_only ON cost_entries;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON cost_entries
  FOR EACH STATEMENT EXECUTE FUNCTION cost_entries_append_only();
DROP FUNCTION cost_entries_change_of_subject;
DROP TABLE retained_content, content_keys, object_removals, legal_holds, project_retention;
ALTER TABLE sessions DROP COLUMN erased_at;
