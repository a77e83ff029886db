-- Up Migration
-- What programs in a sandbox say of themselves: calls that they made with their own tools, and the tokens that they counted.
ALTER TABLE tool_calls ADD COLUMN reported boolean NOT NULL DEFAULT false;
ALTER TABLE attempts ADD COLUMN reported_usage jsonb;

-- Down Migration
ALTER TABLE attempts DROP COLUMN reported_usage;
ALTER TABLE tool_calls DROP COLUMN reported;
