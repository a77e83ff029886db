-- Up Migration
-- The most tokens that an exchange can use, reserved with its money while it runs.
ALTER TABLE usage ADD COLUMN reserved_tokens bigint NOT NULL DEFAULT 0;

-- Down Migration
ALTER TABLE usage DROP COLUMN reserved_tokens;
