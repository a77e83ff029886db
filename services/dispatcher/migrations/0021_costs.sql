-- Up Migration
-- Costs are appended and never changed; rollups are folded behind them and can be thrown away.
CREATE TABLE cost_centres (
  project_id text PRIMARY KEY REFERENCES projects (id),
  cost_centre text NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT now()
);

-- What a slot of a pool costs, from a day on.
CREATE TABLE pool_prices (
  pool text NOT NULL,
  from_day date NOT NULL,
  usd_per_slot_hour numeric NOT NULL CHECK (usd_per_slot_hour >= 0),
  PRIMARY KEY (pool, from_day)
);

CREATE TABLE cost_entries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- commits become visible in another order than ids are given: the fold goes by what no open transaction can add to
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  kind text NOT NULL CHECK (kind IN ('usage', 'compute', 'correction')),
  usage_id text,
  session_id text NOT NULL,
  day date NOT NULL,
  project_id text NOT NULL,
  agent text NOT NULL,
  subject text NOT NULL,
  runtime text NOT NULL,
  provider text NOT NULL,
  model text NOT NULL,
  cost_centre text NOT NULL DEFAULT '',
  price_book text NOT NULL DEFAULT '',
  exchanges integer NOT NULL DEFAULT 0,
  unpriced integer NOT NULL DEFAULT 0,
  incomplete integer NOT NULL DEFAULT 0,
  input_tokens bigint NOT NULL DEFAULT 0,
  output_tokens bigint NOT NULL DEFAULT 0,
  cache_read_tokens bigint NOT NULL DEFAULT 0,
  cache_write_tokens bigint NOT NULL DEFAULT 0,
  slot_seconds numeric NOT NULL DEFAULT 0,
  input_usd numeric NOT NULL DEFAULT 0,
  output_usd numeric NOT NULL DEFAULT 0,
  cache_read_usd numeric NOT NULL DEFAULT 0,
  cache_write_usd numeric NOT NULL DEFAULT 0,
  -- what the provider bills by number, such as searches
  other_usd numeric NOT NULL DEFAULT 0,
  compute_usd numeric NOT NULL DEFAULT 0,
  reason text,
  at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX cost_entries_by_xid ON cost_entries (xid);

-- Everything before this transaction is in the rollups. One row.
CREATE TABLE cost_fold (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  xid xid8 NOT NULL DEFAULT '0',
  folded_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO cost_fold DEFAULT VALUES;

CREATE TABLE cost_sessions (
  session_id text NOT NULL,
  day date NOT NULL,
  project_id text NOT NULL,
  agent text NOT NULL,
  subject text NOT NULL,
  runtime text NOT NULL,
  provider text NOT NULL,
  model text NOT NULL,
  cost_centre text NOT NULL,
  kind text NOT NULL,
  price_book text NOT NULL,
  exchanges bigint NOT NULL, unpriced bigint NOT NULL, incomplete bigint NOT NULL,
  input_tokens bigint NOT NULL, output_tokens bigint NOT NULL,
  cache_read_tokens bigint NOT NULL, cache_write_tokens bigint NOT NULL, slot_seconds numeric NOT NULL,
  input_usd numeric NOT NULL, output_usd numeric NOT NULL, cache_read_usd numeric NOT NULL,
  cache_write_usd numeric NOT NULL, other_usd numeric NOT NULL, compute_usd numeric NOT NULL,
  PRIMARY KEY (session_id, day, provider, model, kind, price_book, cost_centre)
);
CREATE INDEX cost_sessions_by_day ON cost_sessions (day);

CREATE TABLE cost_days (
  day date NOT NULL,
  project_id text NOT NULL,
  agent text NOT NULL,
  subject text NOT NULL,
  runtime text NOT NULL,
  provider text NOT NULL,
  model text NOT NULL,
  cost_centre text NOT NULL,
  exchanges bigint NOT NULL, unpriced bigint NOT NULL, incomplete bigint NOT NULL,
  input_tokens bigint NOT NULL, output_tokens bigint NOT NULL,
  cache_read_tokens bigint NOT NULL, cache_write_tokens bigint NOT NULL, slot_seconds numeric NOT NULL,
  input_usd numeric NOT NULL, output_usd numeric NOT NULL, cache_read_usd numeric NOT NULL,
  cache_write_usd numeric NOT NULL, other_usd numeric NOT NULL, compute_usd numeric NOT NULL,
  PRIMARY KEY (day, project_id, agent, subject, runtime, provider, model, cost_centre)
);

-- Budgets of money a calendar month (UTC). `granted_usd` is what sessions hold as slices; it never exceeds the amount.
CREATE TABLE cost_budgets (
  scope text NOT NULL CHECK (scope IN ('project', 'agent')),
  name text NOT NULL,
  amount_usd numeric NOT NULL CHECK (amount_usd > 0),
  month date NOT NULL DEFAULT date_trunc('month', now() AT TIME ZONE 'UTC')::date,
  granted_usd numeric NOT NULL DEFAULT 0,
  warned boolean NOT NULL DEFAULT false,
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (scope, name)
);
CREATE TABLE cost_slices (
  scope text NOT NULL,
  name text NOT NULL,
  month date NOT NULL,
  session_id text NOT NULL,
  granted_usd numeric NOT NULL,
  returned boolean NOT NULL DEFAULT false,
  PRIMARY KEY (scope, name, month, session_id),
  FOREIGN KEY (scope, name) REFERENCES cost_budgets (scope, name) ON DELETE CASCADE
);
CREATE INDEX cost_slices_held ON cost_slices (session_id) WHERE NOT returned;

ALTER TABLE attempts ADD COLUMN costed boolean NOT NULL DEFAULT false;
CREATE INDEX attempts_to_cost ON attempts (ended_at) WHERE NOT costed AND ended_at IS NOT NULL;

CREATE FUNCTION cost_entries_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  RAISE EXCEPTION 'cost_entries is append-only: % is refused', TG_OP USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON cost_entries
  FOR EACH STATEMENT EXECUTE FUNCTION cost_entries_append_only();

-- What was settled before there was this table; the whole cost stands with the input, since its parts were not kept.
INSERT INTO cost_entries (kind, usage_id, session_id, day, project_id, agent, subject, runtime, provider, model,
  price_book, exchanges, unpriced, incomplete, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,
  input_usd)
SELECT 'usage', u.id, u.session_id, (u.begun_at AT TIME ZONE 'UTC')::date, s.project_id, 'default', s.opened_by,
  s.runtime, u.provider, u.model, coalesce(u.price_book, ''), 1, (u.cost_usd IS NULL)::int,
  (u.complete IS NOT TRUE)::int, u.input_tokens, u.output_tokens, u.cache_read_tokens, u.cache_write_tokens,
  coalesce(u.cost_usd, 0)
FROM usage u JOIN sessions s ON s.id = u.session_id WHERE u.state <> 'begun';

GRANT SELECT, INSERT, UPDATE, DELETE ON
  cost_centres, pool_prices, cost_fold, cost_sessions, cost_days, cost_budgets, cost_slices TO lemniscate_app;
GRANT SELECT, INSERT ON cost_entries TO lemniscate_app;

-- Down Migration
DROP TABLE cost_slices, cost_budgets, cost_days, cost_sessions, cost_fold, cost_entries, pool_prices, cost_centres;
DROP FUNCTION cost_entries_append_only;
DROP INDEX attempts_to_cost;
ALTER TABLE attempts DROP COLUMN costed;
