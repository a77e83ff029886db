-- Up Migration
-- The last moment at which any dispatcher watched over the fleet: no time of a session runs out while nobody watches, and no
-- absence counts against it.
CREATE TABLE fleet_watch (
  single boolean PRIMARY KEY DEFAULT true CHECK (single),
  -- null: nobody has said so yet, since all dispatchers are of a version that does not
  ticked_at timestamptz,
  -- the longest distance of two ticks that is no absence
  normal_ms integer NOT NULL DEFAULT 4000
);
INSERT INTO fleet_watch DEFAULT VALUES;

-- Spans in which no dispatcher reached PostgreSQL. They do not overlap.
CREATE TABLE fleet_absences (
  since timestamptz PRIMARY KEY,
  until timestamptz NOT NULL CHECK (until > since)
);

-- Those on record, and the one that has not been credited yet.
CREATE VIEW fleet_unwatched AS
  SELECT since, until FROM fleet_absences
  UNION ALL
  SELECT ticked_at, clock_timestamp() FROM fleet_watch
  WHERE ticked_at < clock_timestamp() - normal_ms * interval '1 millisecond';

-- The moment since which somebody has watched for so long: what began before it is that old, absences not counted.
CREATE FUNCTION fleet_ago(span interval) RETURNS timestamptz LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
  at timestamptz := now();
  remaining interval := greatest(span, interval '0');
  absence record;
BEGIN
  FOR absence IN SELECT since, until FROM fleet_unwatched ORDER BY until DESC LOOP
    EXIT WHEN at - absence.until > remaining;
    remaining := remaining - greatest(at - absence.until, interval '0');
    at := least(at, absence.since);
  END LOOP;
  RETURN at - remaining;
END $$;

-- The record's clock, which stands still while nobody watches: what deadlines are compared with.
CREATE FUNCTION fleet_now() RETURNS timestamptz LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT fleet_ago(interval '0')
$$;

GRANT SELECT, UPDATE ON fleet_watch TO lemniscate_app;
GRANT SELECT, INSERT, DELETE ON fleet_absences TO lemniscate_app;
GRANT SELECT ON fleet_unwatched TO lemniscate_app;

-- Down Migration
DROP FUNCTION fleet_now;
DROP FUNCTION fleet_ago;
DROP VIEW fleet_unwatched;
DROP TABLE fleet_absences, fleet_watch;
