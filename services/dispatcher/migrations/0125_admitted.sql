-- Up Migration
-- Sessions whose job is in the queue: the ones that a Redis which forgets can lose. What waits beside them may be any
-- number.
CREATE INDEX sessions_admitted ON sessions (queued_at) WHERE state = 'pending' AND phase = 'admitted';

-- Down Migration
DROP INDEX sessions_admitted;
