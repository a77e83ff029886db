-- Up Migration
-- A note of an administrator may name somebody who is to be forgotten.
GRANT UPDATE (note) ON intake_pauses, fleet_stops, revoked_users TO lemniscate_app;

-- Down Migration
REVOKE UPDATE (note) ON intake_pauses, fleet_stops, revoked_users FROM lemniscate_app;
