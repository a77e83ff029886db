/** What entries and rollups count. */
export const measures = [
  'exchanges',
  'unpriced',
  'incomplete',
  'input_tokens',
  'output_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'slot_seconds',
  'input_usd',
  'output_usd',
  'cache_read_usd',
  'cache_write_usd',
  'other_usd',
  'compute_usd',
] as const;

/** What is summed for the cost of tokens. */
export const tokenUsd = 'input_usd + output_usd + cache_read_usd + cache_write_usd + other_usd';

/** What is summed for the whole cost. */
export const totalUsd = `${tokenUsd} + compute_usd`;

interface Rollup {
  /** What tells its rows apart. */
  readonly keys: readonly string[];
  /** What follows from the keys. */
  readonly facts: readonly string[];
  /** Its sums, with what is summed up in each. */
  readonly sums: Readonly<Record<string, string>>;
  /** Column of `cost_fold` up to which it holds everything; versions that do not know a rollup leave its own behind. */
  readonly cursor: 'xid' | 'session_days_xid';
}

const everyMeasure = Object.fromEntries(measures.map((measure) => [measure, measure]));

/** The rollups. */
export const rollups = {
  cost_sessions: {
    keys: ['session_id', 'day', 'provider', 'model', 'kind', 'price_book', 'cost_centre'],
    facts: ['project_id', 'agent', 'subject', 'runtime'],
    sums: everyMeasure,
    cursor: 'xid',
  },
  cost_days: {
    keys: ['day', 'project_id', 'agent', 'subject', 'runtime', 'provider', 'model', 'cost_centre'],
    facts: [],
    sums: everyMeasure,
    cursor: 'xid',
  },
  cost_session_days: {
    keys: ['session_id', 'day'],
    facts: ['project_id'],
    sums: { total_usd: totalUsd },
    cursor: 'session_days_xid',
  },
} as const satisfies Readonly<Record<string, Rollup>>;
export type RollupName = keyof typeof rollups;
