-- Up Migration
-- People as the directory last told of them. Groups are read at each login; roles follow from bindings when asked.
CREATE TABLE people (
  subject text PRIMARY KEY,
  name text NOT NULL,
  email text,
  groups jsonb NOT NULL DEFAULT '[]',
  seen_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX people_by_email ON people (lower(email)) WHERE email IS NOT NULL;

CREATE TABLE role_bindings (
  kind text NOT NULL CHECK (kind IN ('group', 'person')),
  principal text NOT NULL,
  role text NOT NULL,
  -- '*': every project
  project_id text NOT NULL,
  bound_by text NOT NULL,
  bound_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (kind, principal, role, project_id)
);

-- Interactive logins. The token itself is nowhere: whoever reads this table cannot use one.
CREATE TABLE logins (
  token_hash bytea PRIMARY KEY CHECK (length(token_hash) = 32),
  subject text NOT NULL REFERENCES people (subject),
  how text NOT NULL CHECK (how IN ('browser', 'device')),
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);
CREATE INDEX logins_by_end ON logins (expires_at);

-- Logins under way: what the issuer's answer will be checked against. Any dispatcher may take the answer.
CREATE TABLE login_flows (
  handle_hash bytea PRIMARY KEY CHECK (length(handle_hash) = 32),
  kind text NOT NULL CHECK (kind IN ('browser', 'device')),
  state jsonb NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX login_flows_by_end ON login_flows (expires_at);

CREATE TABLE service_tokens (
  id text PRIMARY KEY,
  token_hash bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),
  name text NOT NULL,
  project_id text NOT NULL,
  roles jsonb NOT NULL,
  scopes jsonb NOT NULL,
  created_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  revoked_at timestamptz,
  used_at timestamptz
);

GRANT SELECT, INSERT, UPDATE, DELETE ON people, role_bindings, logins, login_flows, service_tokens TO lemniscate_app;

-- Down Migration
DROP TABLE service_tokens, login_flows, logins, role_bindings, people;
