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

/** The rollups with what tells their rows apart. */
export const rollups = {
  cost_sessions: {
    keys: ['session_id', 'day', 'provider', 'model', 'kind', 'price_book', 'cost_centre'],
    facts: ['project_id', 'agent', 'subject', 'runtime'],
  },
  cost_days: {
    keys: ['day', 'project_id', 'agent', 'subject', 'runtime', 'provider', 'model', 'cost_centre'],
    facts: [],
  },
} as const;
export type RollupName = keyof typeof rollups;
