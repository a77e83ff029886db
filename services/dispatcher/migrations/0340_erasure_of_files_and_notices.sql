-- Up Migration
-- An erased session's files and the messages about it go too; the diffs of its checkpoints go with the rule for diffs.
GRANT DELETE ON session_files TO lemniscate_app;
GRANT UPDATE (diff_summary, diff_patch, diff_object_sha256) ON checkpoints TO lemniscate_app;
GRANT UPDATE (detail) ON object_history TO lemniscate_app;
CREATE INDEX session_files_by_content ON session_files (sha256);
CREATE INDEX object_files_by_session ON object_files (session_id);
CREATE INDEX object_comments_by_session ON object_comments (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX notices_by_session ON notices ((payload -> 'data' ->> 'session'));
CREATE INDEX notices_by_comment ON notices ((payload -> 'data' ->> 'comment'));

-- Down Migration
DROP INDEX notices_by_comment, notices_by_session, object_comments_by_session, object_files_by_session,
  session_files_by_content;
REVOKE UPDATE (detail) ON object_history FROM lemniscate_app;
REVOKE UPDATE (diff_summary, diff_patch, diff_object_sha256) ON checkpoints FROM lemniscate_app;
REVOKE DELETE ON session_files FROM lemniscate_app;
