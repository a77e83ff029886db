import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { createGate } from './signal-gate.ts';

/** How long after the lease's end the session is given up for good. */
export const leaseGiveUpMs = 10 * 60_000;

/** The right of this attempt to go on, as the server counts it: from the moment the renewal was *sent*. */
export interface Lease {
  /** @param sentAtMs boot-time clock when the request left, so that a slow answer shortens and never lengthens it */
  renew(sentAtMs: number, leaseMs: number): void;
  valid(): boolean;
  /** Resolves while the lease holds; else waits for the renewal. Every act of a session passes here first. */
  hold(signal: AbortSignal): Promise<void>;
  /** So long past its end that the session is given up. */
  lost(): boolean;
}

/**
 * @param bootTimeMs a clock that also counts while the machine sleeps: a workstation that was shut for an hour must
 * wake up without its lease
 */
export function createLease(bootTimeMs: () => number, sentAtMs: number, leaseMs: number): Lease {
  let until = sentAtMs + leaseMs;
  const renewed = createGate();
  const valid = () => bootTimeMs() < until;
  return {
    renew: (sentAtMs, leaseMs) => {
      // Answers can overtake each other: an older one never shortens a newer.
      until = Math.max(until, sentAtMs + leaseMs);
      renewed.wake();
    },
    valid,
    hold: (signal) => renewed.until(valid, signal),
    lost: () => bootTimeMs() > until + leaseGiveUpMs,
  };
}

/** What a step throws that found its attempt to be no longer ours. */
export function staleAttempt(sessionId: string, attempt: number): CodedError {
  return new CodedError(
    'attempt_stale',
    `Attempt ${attempt} of session ${sessionId} is no longer this server's; a later one runs or the session has ended.`,
    { sessionId, attempt },
  );
}
