-- Up Migration
-- A call's entry that it began (its decision) is answered by one that it ended, or by one that nobody will ever tell.
ALTER TABLE tool_calls
  -- the file that the call is about, where its tool names one
  ADD COLUMN path text,
  ADD COLUMN abandoned_at timestamptz;
CREATE INDEX tool_calls_open ON tool_calls (session_id, attempt)
  WHERE ended_at IS NULL AND abandoned_at IS NULL AND answer ->> 'verdict' = 'go';

-- Down Migration
DROP INDEX tool_calls_open;
ALTER TABLE tool_calls DROP COLUMN path, DROP COLUMN abandoned_at;
