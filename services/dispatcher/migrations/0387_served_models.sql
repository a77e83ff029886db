-- Up Migration
-- Bills name the model that served, and requests that are billed by number have a number.
ALTER TABLE cost_entries ADD COLUMN served_model text, ADD COLUMN requests bigint NOT NULL DEFAULT 0;
ALTER TABLE cost_sessions ADD COLUMN requests bigint NOT NULL DEFAULT 0;

CREATE TABLE cost_served_days (
  day date NOT NULL,
  provider text NOT NULL,
  model text NOT NULL,
  served_model text NOT NULL,
  tokens_usd numeric NOT NULL,
  PRIMARY KEY (day, provider, model, served_model)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON cost_served_days TO lemniscate_app;

-- A dispatcher of the version before folds without them, so they have a cursor of their own. Adding it waits for a fold.
ALTER TABLE cost_fold ADD COLUMN served_xid xid8 NOT NULL DEFAULT '0';
INSERT INTO cost_served_days (day, provider, model, served_model, tokens_usd)
SELECT day, provider, model, model, sum(input_usd + output_usd + cache_read_usd + cache_write_usd + other_usd)
FROM cost_days GROUP BY day, provider, model;
UPDATE cost_fold SET served_xid = xid;

-- Down Migration
ALTER TABLE cost_fold DROP COLUMN served_xid;
DROP TABLE cost_served_days;
ALTER TABLE cost_sessions DROP COLUMN requests;
ALTER TABLE cost_entries DROP COLUMN served_model, DROP COLUMN requests;
