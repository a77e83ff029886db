import { serverFault, silentAfterMs } from './server-fault.ts';
import type { ServerCondition } from './server-fault.ts';

/**
 * Whom a look asks. Those that do not answer take their whole time to say nothing: they are asked apart, so that nobody
 * stands behind them.
 */
export type ProbeLane = 'answering' | 'doubtful';

/** What decides about a server's turn. */
export interface ProbedBefore extends ServerCondition {
  /** Since the last answer to a probe, by the record's clock; null: there was none. */
  readonly probed_ms: number | null;
}

/** A server whose heartbeats come says all of it by itself: only its address and its clock are still to be looked at. */
export const restAfterProbeMs = 10_000;

/** Two heartbeats that did not come: another server may answer at that address by now. */
const missedMs = 5_000;

/** In which lane a server is asked now; null: it need not be asked yet. */
export function probeTurn(server: ProbedBefore): ProbeLane | null {
  if (server.probe_failures > 0 || (server.silent_ms ?? 0) > silentAfterMs) return 'doubtful';
  const { probed_ms: probedMs, silent_ms: silentMs } = server;
  if (probedMs === null || silentMs === null) return 'answering';
  // Else its last word was the answer to the probe.
  const beats = silentMs < probedMs && silentMs < missedMs;
  if (!beats || probedMs > restAfterProbeMs) return 'answering';
  return serverFault(server) === null ? null : 'answering';
}
