-- Up Migration
-- What the exporter was set to at its last start, as keyed commitments: it tells in the log what is otherwise now. The key
-- is the exporter's alone, for with the fleet's key for commitments it could try out what people have written.
CREATE TABLE audit_exporter_settings (
  name text PRIMARY KEY,
  commitment text NOT NULL
);
CREATE TABLE audit_exporter_key (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  key bytea NOT NULL CHECK (length(key) = 32)
);
INSERT INTO audit_exporter_key (key)
VALUES (sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));

GRANT SELECT ON audit_exporter_key TO lemniscate_exporter;
GRANT SELECT, INSERT, UPDATE, DELETE ON audit_exporter_settings TO lemniscate_exporter;

-- Down Migration
DROP TABLE audit_exporter_key, audit_exporter_settings;
