-- Up Migration
-- A model exchange finds its attempt by the token's hash, also when the attempt is over and must be told so.
CREATE INDEX attempts_by_token ON attempts (relay_token_hash);

-- "Does the project have these bytes?" is asked for every announced upload and every bundle's address.
CREATE INDEX uploads_stored ON uploads (project_id, sha256) WHERE state = 'stored';

-- Down Migration
DROP INDEX uploads_stored, attempts_by_token;
