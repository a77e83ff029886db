/** A promise about the fleet, measured over 28 days. `docs/operations/service-levels.md` says why these. */
export interface ServiceLevel {
  readonly name: string;
  readonly promise: string;
  /** Share of what is counted that must be well. */
  readonly objective: number;
  /** Expressions over a window such as `5m`: what went wrong, and everything. */
  readonly bad: (window: string) => string;
  readonly all: (window: string) => string;
}

// Every dispatcher counts the whole fleet out of the record, so the largest of them is the fleet's number.
const ofFleet = (metric: string, selector: string, window: string, labels: string): string =>
  `sum(max by (${labels}) (rate(${metric}${selector}[${window}])))`;

/** Ends that are the fleet's fault and not the agent's, the person's or the repository's. */
const ourFaults = 'server_lost|no_capacity|start_failed|runtime_failed|result_unsaved|queue_deadline';

export const serviceLevels: readonly ServiceLevel[] = [
  {
    name: 'api',
    promise: 'The API answers without a fault of its own.',
    objective: 0.999,
    bad: (window) =>
      `(sum(rate(lemniscate_http_requests_total{listener="public",status="5xx"}[${window}])) or vector(0))`,
    all: (window) => `sum(rate(lemniscate_http_requests_total{listener="public"}[${window}]))`,
  },
  {
    name: 'start',
    promise: 'A session runs within a minute of being queued.',
    objective: 0.99,
    bad: (window) =>
      `(${ofFleet('lemniscate_session_start_seconds_count', '', window, 'pool')} - ${ofFleet('lemniscate_session_start_seconds_bucket', '{le="60"}', window, 'pool')})`,
    all: (window) => ofFleet('lemniscate_session_start_seconds_count', '', window, 'pool'),
  },
  {
    name: 'sessions',
    promise: 'A session does not fail through a fault of the fleet.',
    objective: 0.995,
    bad: (window) =>
      `(${ofFleet('lemniscate_sessions_ended_total', `{reason=~"${ourFaults}"}`, window, 'pool, reason')} or vector(0))`,
    all: (window) => ofFleet('lemniscate_sessions_ended_total', '', window, 'pool, reason'),
  },
];

/**
 * Burn rates over a long and a short window (Google's SRE workbook, chapter 5): so much of 28 days' budget is used up
 * in the long one, and the short one says that it still goes on.
 */
export const burnRates = [
  { severity: 'page', factor: 14.4, long: '1h', short: '5m', for: '2m' },
  { severity: 'page', factor: 6, long: '6h', short: '30m', for: '15m' },
  { severity: 'ticket', factor: 1, long: '3d', short: '6h', for: '1h' },
] as const;
