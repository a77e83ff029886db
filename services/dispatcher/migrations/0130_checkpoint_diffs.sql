-- Up Migration
-- What a session has changed up to a checkpoint: offered if it is lost for good.
ALTER TABLE checkpoints
  ADD COLUMN server_id text,
  ADD COLUMN diff_summary jsonb,
  ADD COLUMN diff_patch bytea,
  ADD COLUMN diff_object_sha256 text;

-- Down Migration
ALTER TABLE checkpoints DROP COLUMN server_id, DROP COLUMN diff_summary, DROP COLUMN diff_patch,
  DROP COLUMN diff_object_sha256;
