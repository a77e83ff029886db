-- Up Migration
-- The backlog. A session waits in the outbox until its turn comes and a slot is reserved for it; only then does its job
-- go to the queue of its pool.
ALTER TABLE projects
  ADD COLUMN pool text NOT NULL DEFAULT 'default',
  ADD COLUMN architecture text,
  ADD COLUMN labels text[] NOT NULL DEFAULT '{}',
  ADD COLUMN queue_weight integer NOT NULL DEFAULT 1 CHECK (queue_weight BETWEEN 1 AND 1000),
  -- null: the fleet's own bound, or none
  ADD COLUMN max_concurrent integer CHECK (max_concurrent >= 0),
  ADD COLUMN max_backlog integer CHECK (max_backlog >= 0),
  ADD COLUMN max_wait_seconds integer CHECK (max_wait_seconds >= 1);

ALTER TABLE sessions
  ADD COLUMN placement_class text NOT NULL DEFAULT 'default',
  ADD COLUMN priority text NOT NULL DEFAULT 'normal',
  ADD COLUMN queue_delay_seconds integer NOT NULL DEFAULT 0,
  -- who takes turns: projects; and servers, where a session can go to one only
  ADD COLUMN lane text COLLATE "C" GENERATED ALWAYS AS (coalesce(pinned_server, project_id)) STORED;
UPDATE sessions SET placement_class = 'pinned' WHERE pinned_server IS NOT NULL;
CREATE INDEX sessions_occupying ON sessions (project_id)
  WHERE state IN ('starting', 'running') OR (state = 'pending' AND phase = 'admitted');

ALTER TABLE outbox
  ADD COLUMN placement_class text,
  -- in the order of bytes, as the fair share compares names
  ADD COLUMN lane text COLLATE "C",
  ADD COLUMN queue_key timestamptz,
  ADD COLUMN ready_at timestamptz NOT NULL DEFAULT now(),
  -- sentences on servers that failed to take it at earlier looks
  ADD COLUMN failures text[] NOT NULL DEFAULT '{}';
-- A session keeps the place of its birth: one that comes back from a lost server or a pause goes before its project's
-- younger ones. The trigger fills the place in, so that nobody who queues a session can forget it.
CREATE FUNCTION outbox_take_place() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  SELECT s.placement_class, s.lane, s.created_at + s.queue_delay_seconds * interval '1 second'
    INTO STRICT NEW.placement_class, NEW.lane, NEW.queue_key FROM sessions s WHERE s.id = NEW.session_id;
  RETURN NEW;
END $$;
UPDATE outbox SET placement_class = s.placement_class, lane = s.lane, queue_key = s.created_at
  FROM sessions s WHERE s.id = outbox.session_id;
DELETE FROM outbox WHERE lane IS NULL;
ALTER TABLE outbox
  ALTER COLUMN placement_class SET NOT NULL,
  ALTER COLUMN lane SET NOT NULL,
  ALTER COLUMN queue_key SET NOT NULL;
CREATE TRIGGER outbox_take_place BEFORE INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION outbox_take_place();
CREATE INDEX outbox_turns ON outbox (placement_class, lane, queue_key, id);
CREATE INDEX outbox_sessions ON outbox (session_id);
-- Rows live for milliseconds while slots are free: without this their remains would be what the index is made of.
ALTER TABLE outbox SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000);

-- Whose turn it is, and credits below one session.
CREATE TABLE queue_cursors (
  placement_class text PRIMARY KEY,
  lane text COLLATE "C" NOT NULL,
  granted boolean NOT NULL
);
CREATE TABLE queue_deficits (
  placement_class text NOT NULL,
  lane text COLLATE "C" NOT NULL,
  deficit double precision NOT NULL,
  PRIMARY KEY (placement_class, lane)
);
-- How much waits and how fast it goes, looked at about once a second: what positions and estimates are made of.
CREATE TABLE queue_book (
  placement_class text PRIMARY KEY,
  -- [{"name": lane, "waiting": count, "weight": weight}], the longest first
  lanes jsonb NOT NULL,
  starts_per_second double precision NOT NULL,
  looked_at timestamptz NOT NULL
);
-- Intake that somebody has paused: `fleet`, `pool:NAME`, `project:NAME`. Sessions are accepted and wait.
CREATE TABLE intake_pauses (
  scope text PRIMARY KEY,
  paused_by text NOT NULL,
  note text,
  paused_at timestamptz NOT NULL DEFAULT now()
);
-- The kill switch: everything that was opened before the last row ends.
CREATE TABLE fleet_stops (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  stopped_by text NOT NULL,
  note text,
  stopped_at timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT, INSERT ON fleet_stops TO lemniscate_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON queue_cursors, queue_deficits, queue_book, intake_pauses TO lemniscate_app;

-- Down Migration
DROP TABLE fleet_stops, intake_pauses, queue_book, queue_deficits, queue_cursors;
DROP TRIGGER outbox_take_place ON outbox;
DROP FUNCTION outbox_take_place;
ALTER TABLE outbox DROP COLUMN placement_class, DROP COLUMN lane, DROP COLUMN queue_key, DROP COLUMN ready_at,
  DROP COLUMN failures;
DROP INDEX sessions_occupying;
ALTER TABLE sessions DROP COLUMN placement_class, DROP COLUMN priority, DROP COLUMN queue_delay_seconds, DROP COLUMN lane;
ALTER TABLE projects DROP COLUMN pool, DROP COLUMN architecture, DROP COLUMN labels, DROP COLUMN queue_weight,
  DROP COLUMN max_concurrent, DROP COLUMN max_backlog, DROP COLUMN max_wait_seconds;
