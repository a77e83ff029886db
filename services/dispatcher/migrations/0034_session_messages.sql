-- Up Migration
-- What a person says to a session after its instruction. A row begins as `awaited` when the session has answered and
-- asks for it, or as `sent` when somebody speaks before that.
CREATE TABLE session_messages (
  session_id text NOT NULL REFERENCES sessions (id),
  -- counts from 1 without holes: what a server names as the last one that it has
  number integer NOT NULL,
  state text NOT NULL CHECK (state IN ('awaited', 'sent', 'ended', 'idled', 'withdrawn')),
  text text,
  subject text,
  asked_at timestamptz,
  expires_at timestamptz,
  answered_at timestamptz,
  PRIMARY KEY (session_id, number)
);
CREATE UNIQUE INDEX session_messages_awaited ON session_messages (session_id) WHERE state = 'awaited';
CREATE INDEX session_messages_idle ON session_messages (expires_at) WHERE state = 'awaited';

-- whether the session stays for further messages when it has answered
ALTER TABLE sessions ADD COLUMN follow_ups boolean NOT NULL DEFAULT false;

GRANT SELECT, INSERT, UPDATE ON session_messages TO lemniscate_app;

-- Down Migration
ALTER TABLE sessions DROP COLUMN follow_ups;
DROP TABLE session_messages;
