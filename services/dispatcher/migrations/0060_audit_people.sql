-- Up Migration
-- Who the pseudonyms of the audit log are. Entries hold the pseudonym alone, so a person can be forgotten: the identity
-- goes, the entries and their proofs stay.
CREATE TABLE audit_people (
  pseudonym text PRIMARY KEY CHECK (pseudonym ~ '^person:[0-9a-f]{24}$'),
  -- as the directory has it; NULL once it was erased
  identity text UNIQUE,
  since timestamptz NOT NULL DEFAULT now(),
  erased_at timestamptz,
  CHECK ((identity IS NULL) = (erased_at IS NOT NULL))
);

CREATE FUNCTION audit_people_erase_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF TG_OP = 'DELETE' OR NEW.pseudonym <> OLD.pseudonym OR NEW.since <> OLD.since OR NEW.identity IS NOT NULL
    OR OLD.identity IS NULL THEN
    RAISE EXCEPTION 'a row of audit_people can be erased and not be changed' USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END $$;
-- otherwise an entry could be made to speak of somebody else
CREATE TRIGGER erase_only BEFORE UPDATE OR DELETE ON audit_people FOR EACH ROW EXECUTE FUNCTION audit_people_erase_only();
ALTER TABLE audit_people ENABLE ALWAYS TRIGGER erase_only;

GRANT SELECT, INSERT, UPDATE (identity, erased_at) ON audit_people TO lemniscate_app;
GRANT SELECT ON audit_people TO lemniscate_exporter;

-- Down Migration
DROP TABLE audit_people;
DROP FUNCTION audit_people_erase_only;
