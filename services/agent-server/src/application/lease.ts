import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { createGate } from './signal-gate.ts';

/** How long after the lease's end the session is given up for good, though the dispatcher may still answer. */
export const leaseGiveUpMs = 10 * 60_000;

/** A lease may be set shorter than a heartbeat takes on a busy machine; so much silence is none. */
const leastSilenceMs = 1000;

/** The right of this attempt to go on, as the server counts it: from the moment the renewal was *sent*. */
export interface Lease {
  /** @param sentAtMs boot-time clock when the request left, so that a slow answer shortens and never lengthens it */
  renew(sentAtMs: number, leaseMs: number): void;
  /**
   * Something came back of what was sent then, also where nothing could be renewed: the record is away, or no dispatcher
   * runs and connections are turned down.
   */
  heard(sentAtMs: number): void;
  valid(): boolean;
  /** Resolves while the lease holds; else waits for the renewal. Every act of a session passes here first. */
  hold(signal: AbortSignal): Promise<void>;
  /**
   * It has ended, and for as long as a lease nothing was heard: nobody can tell this server that its session was stopped,
   * revoked or begun elsewhere, so it takes it for told.
   */
  cutOff(): boolean;
  /** So long past its end that the session is given up. */
  lost(): boolean;
}

/**
 * @param bootTimeMs a clock that also counts while the machine sleeps: a workstation that was shut for an hour must
 * wake up without its lease
 */
export function createLease(bootTimeMs: () => number, sentAtMs: number, leaseMs: number): Lease {
  let until = sentAtMs + leaseMs;
  let silenceMs = Math.max(leaseMs, leastSilenceMs);
  let heardAt = sentAtMs;
  const renewed = createGate();
  const valid = () => bootTimeMs() < until;
  return {
    renew: (sentAtMs, leaseMs) => {
      // Answers can overtake each other: an older one never shortens a newer.
      until = Math.max(until, sentAtMs + leaseMs);
      silenceMs = Math.max(leaseMs, leastSilenceMs);
      renewed.wake();
    },
    heard: (sentAtMs) => {
      heardAt = Math.max(heardAt, sentAtMs);
    },
    valid,
    hold: (signal) => renewed.until(valid, signal),
    cutOff: () => bootTimeMs() >= Math.max(until, heardAt + silenceMs),
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
