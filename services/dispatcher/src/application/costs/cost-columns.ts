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
}

const everyMeasure = Object.fromEntries(measures.map((measure) => [measure, measure]));

/** The rollups; every other one can be made of the rows of `cost_sessions` with the models that served. */
export const rollups = {
  cost_sessions: {
    keys: ['session_id', 'day', 'provider', 'model', 'kind', 'price_book', 'cost_centre'],
    facts: ['project_id', 'agent', 'subject', 'runtime'],
    sums: { ...everyMeasure, requests: 'requests' },
  },
  cost_days: {
    keys: ['day', 'project_id', 'agent', 'subject', 'runtime', 'provider', 'model', 'cost_centre'],
    facts: [],
    sums: everyMeasure,
  },
  cost_session_days: {
    keys: ['session_id', 'day'],
    facts: ['project_id'],
    sums: { total_usd: totalUsd },
  },
  cost_served_days: {
    keys: ['day', 'provider', 'model', 'served_model'],
    facts: [],
    sums: { tokens_usd: tokenUsd },
  },
} as const satisfies Readonly<Record<string, Rollup>>;
export type RollupName = keyof typeof rollups;
