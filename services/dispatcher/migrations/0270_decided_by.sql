-- Up Migration
-- No execution without a decision, whoever writes the row: what may run was let run by a human or by automation, and what
-- is settled was settled by one of them. NOT VALID: rows from before are not read again.
ALTER TABLE tool_calls ADD CONSTRAINT tool_calls_decided
  CHECK (answer IS NULL OR decided_by IS NOT NULL) NOT VALID;
ALTER TABLE approvals ADD CONSTRAINT approvals_decided
  CHECK (state = 'waiting' OR decided_by IS NOT NULL) NOT VALID;

-- Down Migration
ALTER TABLE approvals DROP CONSTRAINT approvals_decided;
ALTER TABLE tool_calls DROP CONSTRAINT tool_calls_decided;
