-- Up Migration
-- Classes of one pool take turns with each other: how many rounds the pool has had, and in which one a class is due again.
CREATE TABLE queue_clocks (
  pool text PRIMARY KEY,
  round double precision NOT NULL
);
GRANT SELECT, INSERT, UPDATE, DELETE ON queue_clocks TO lemniscate_app;
ALTER TABLE queue_cursors ADD COLUMN due double precision NOT NULL DEFAULT 0;

-- Down Migration
ALTER TABLE queue_cursors DROP COLUMN due;
DROP TABLE queue_clocks;
