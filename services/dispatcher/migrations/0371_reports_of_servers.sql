-- Up Migration
-- What was read last of a server counts last, whoever is first at the ledger.
ALTER TABLE agent_servers ADD COLUMN reported bigint NOT NULL DEFAULT 0;

-- Down Migration
ALTER TABLE agent_servers DROP COLUMN reported;
