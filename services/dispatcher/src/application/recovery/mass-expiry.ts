import type { Clock } from '@lemniscate/shared/clock.ts';

/** Decides whether as many servers may be given up in one tick. */
export interface MassExpiryGuard {
  /**
   * @param silent servers whose leases are due
   * @param fleet servers that hold live attempts
   */
  allows(silent: number, fleet: number): boolean;
}

/** One or two servers may always be lost: in a small fleet a tenth is less than one machine. */
const alwaysAllowed = 2;
const share = 0.1;

/**
 * Holds back when more than a tenth of the fleet falls silent at once, for then it is likelier that this side is cut
 * off. Not for ever: a power cut is real too, and sessions must end. After `holdMs` of silence in one piece it lets go.
 */
export function createMassExpiryGuard(clock: Pick<Clock, 'monotonicMs'>, holdMs: number): MassExpiryGuard {
  let heldSince: number | null = null;
  return {
    allows: (silent, fleet) => {
      if (silent <= Math.max(alwaysAllowed, Math.floor(fleet * share))) {
        heldSince = null;
        return true;
      }
      heldSince ??= clock.monotonicMs();
      return clock.monotonicMs() - heldSince >= holdMs;
    },
  };
}
