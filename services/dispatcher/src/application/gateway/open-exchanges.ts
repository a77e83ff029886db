import type { AttemptClaim } from '../events/live-attempt.ts';

/** The exchanges that this process is relaying. Whoever wants usage to be final waits for them here. */
export interface OpenExchanges {
  /** @returns to be called when the exchange is settled */
  open(usageId: string, claim: AttemptClaim): () => void;
  isOpen(usageId: string): boolean;
  /** Resolves when none of the attempt is open any more, at the latest after `ms`. */
  settled(claim: AttemptClaim, ms: number): Promise<void>;
}

export function createOpenExchanges(): OpenExchanges {
  const byId = new Map<string, { readonly key: string; readonly done: Promise<void> }>();
  return {
    open: (usageId, claim) => {
      const { promise: done, resolve } = Promise.withResolvers<void>();
      byId.set(usageId, { key: keyOf(claim), done });
      return () => {
        byId.delete(usageId);
        resolve();
      };
    },
    isOpen: (usageId) => byId.has(usageId),
    settled: async (claim, ms) => {
      const open = [...byId.values()].filter((exchange) => exchange.key === keyOf(claim));
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
