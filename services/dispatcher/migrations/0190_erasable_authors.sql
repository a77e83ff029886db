-- Up Migration
-- Who pushed a skill or changed an agent or a memory is a person's name: an erasure puts the pseudonym in its place.
-- Everything else of these rows stays as it was written.
GRANT UPDATE (changed_by) ON agent_versions, memories TO lemniscate_app;
GRANT UPDATE (pushed_by) ON skills TO lemniscate_app;

-- Down Migration
REVOKE UPDATE (changed_by) ON agent_versions, memories FROM lemniscate_app;
REVOKE UPDATE (pushed_by) ON skills FROM lemniscate_app;
