-- Up Migration
-- The ledger of slots asks for a server's attempts of the last half minute, live or not.
CREATE INDEX attempts_by_age ON attempts (server_id, created_at);

-- Down Migration
DROP INDEX attempts_by_age;
