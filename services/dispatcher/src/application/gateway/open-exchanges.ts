import type { AttemptClaim } from '../events/live-attempt.ts';

/** An exchange that this process is relaying. */
export interface OpenExchange {
  /** Aborted when the exchange's attempt is no longer the session's. */
  readonly signal: AbortSignal;
  /** To be called when the exchange is settled. */
  close(): void;
}

/** The exchanges that this process is relaying. Whoever wants usage to be final waits for them here. */
export interface OpenExchanges {
  open(usageId: string, claim: AttemptClaim): OpenExchange;
  /** The attempts that have exchanges open here. */
  claims(): AttemptClaim[];
  /** Ends the exchanges of an attempt, since nobody may go on for it. */
  abort(claim: AttemptClaim, reason: Error): void;
  /** Resolves when none of the attempt is open any more, at the latest after `ms`. */
  settled(claim: AttemptClaim, ms: number): Promise<void>;
}

interface Open {
  readonly claim: AttemptClaim;
  readonly controller: AbortController;
  readonly done: Promise<void>;
}

export function createOpenExchanges(): OpenExchanges {
  const byId = new Map<string, Open>();
  const ofAttempt = (claim: AttemptClaim): Open[] =>
    [...byId.values()].filter((exchange) => keyOf(exchange.claim) === keyOf(claim));
  return {
    open: (usageId, claim) => {
      const { promise: done, resolve } = Promise.withResolvers<void>();
      const controller = new AbortController();
      byId.set(usageId, { claim, controller, done });
      return {
        signal: controller.signal,
        close: () => {
          byId.delete(usageId);
          resolve();
        },
      };
    },
    claims: () => [...new Map([...byId.values()].map(({ claim }) => [keyOf(claim), claim])).values()],
    abort: (claim, reason) => {
      for (const { controller } of ofAttempt(claim)) controller.abort(reason);
    },
    settled: async (claim, ms) => {
      const open = ofAttempt(claim);
      if (open.length === 0) return;
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, ms);
      const all = Promise.all(open.map((exchange) => exchange.done));
      await Promise.race([all, late]).finally(() => clearTimeout(timer));
    },
  };
}

function keyOf(claim: AttemptClaim): string {
  return `${claim.sessionId}/${claim.attempt}`;
}
