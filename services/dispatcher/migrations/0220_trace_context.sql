-- Up Migration
-- The span of the request that opened a session, as a W3C traceparent: what happens hours later on other machines hangs
-- below it. Null while nothing is traced.
ALTER TABLE sessions ADD COLUMN trace_context text;
-- /metrics counts what was lost since it last looked.
CREATE INDEX attempts_lost ON attempts (ended_at) WHERE state IN ('lost', 'refused');

-- The exporter hangs the arrival of a session's last entry below it, and may see nothing else of a session.
GRANT SELECT (id, trace_context) ON sessions TO lemniscate_exporter;

-- Down Migration
REVOKE SELECT (id, trace_context) ON sessions FROM lemniscate_exporter;
DROP INDEX attempts_lost;
ALTER TABLE sessions DROP COLUMN trace_context;
