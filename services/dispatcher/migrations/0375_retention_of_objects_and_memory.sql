-- Up Migration
-- Files leave every version of a memory at once: an erasure that left them in an older one would have erased nothing.
GRANT UPDATE (files) ON memories TO lemniscate_app;
GRANT DELETE ON memory_proposals TO lemniscate_app;
-- Bytes that were sent and never used: found by who sent them, and by the session that was given them.
CREATE INDEX uploads_by_owner ON uploads (owner COLLATE "C");
CREATE INDEX uploads_by_age ON uploads (created_at);
CREATE INDEX sessions_by_bundle ON sessions ((repository ->> 'sha256')) WHERE repository ->> 'sha256' IS NOT NULL;

-- Down Migration
DROP INDEX sessions_by_bundle, uploads_by_age, uploads_by_owner;
REVOKE DELETE ON memory_proposals FROM lemniscate_app;
REVOKE UPDATE (files) ON memories FROM lemniscate_app;
