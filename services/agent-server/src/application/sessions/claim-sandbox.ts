import type { Claim } from '../warm-pool.ts';
import type { SessionContext } from './session-context.ts';

/** DESIGN section 4, step 4: a warm sandbox that is validated, or a cold start. Undo: destroyed and seen gone. */
export async function claimSandbox(context: SessionContext, signal: AbortSignal): Promise<Claim> {
  const { deps, order, timings, unwind } = context;
  const claim = await timings.measure('claim', () => deps.pool.claim(order.profile, signal));
  unwind.push('destroy the sandbox', () =>
    timings.measure('destroy', () => deps.pool.release(claim.sandbox)),
  );
  return claim;
}
