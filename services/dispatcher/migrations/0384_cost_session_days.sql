-- Up Migration
-- What each session cost a day, in all: which sessions are the dearest is asked here, over a few narrow rows.
CREATE TABLE cost_session_days (
  session_id text NOT NULL,
  day date NOT NULL,
  project_id text NOT NULL,
  total_usd numeric NOT NULL,
  PRIMARY KEY (session_id, day)
);
CREATE INDEX cost_session_days_by_day ON cost_session_days (day);
GRANT SELECT, INSERT, UPDATE, DELETE ON cost_session_days TO lemniscate_app;

-- A dispatcher of the version before folds without it, so it has a cursor of its own. Adding it waits for a fold.
ALTER TABLE cost_fold ADD COLUMN session_days_xid xid8 NOT NULL DEFAULT '0';
INSERT INTO cost_session_days (session_id, day, project_id, total_usd)
SELECT session_id, day, min(project_id), sum(input_usd + output_usd + cache_read_usd + cache_write_usd + other_usd + compute_usd)
FROM cost_sessions GROUP BY session_id, day;
UPDATE cost_fold SET session_days_xid = xid;

-- Down Migration
ALTER TABLE cost_fold DROP COLUMN session_days_xid;
DROP TABLE cost_session_days;
