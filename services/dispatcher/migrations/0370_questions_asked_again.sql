-- Up Migration
-- A question that was withdrawn since a later attempt did not ask it may be asked by that attempt after all.
CREATE UNIQUE INDEX approvals_of_calls ON approvals (session_id, call_id, arguments_digest, policy_digest)
  WHERE state <> 'withdrawn';
CREATE INDEX approvals_of_sessions ON approvals (session_id, call_id);
ALTER TABLE approvals DROP CONSTRAINT approvals_session_id_call_id_arguments_digest_policy_digest_key;

-- Down Migration
UPDATE approvals SET call_id = call_id || ' ' || id WHERE state = 'withdrawn';
ALTER TABLE approvals
  ADD CONSTRAINT approvals_session_id_call_id_arguments_digest_policy_digest_key
  UNIQUE (session_id, call_id, arguments_digest, policy_digest);
DROP INDEX approvals_of_sessions;
DROP INDEX approvals_of_calls;
