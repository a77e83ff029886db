import type { ClaimedSandbox } from '../warm-pool.ts';
import type { SessionContext } from './session-context.ts';

/**
 * Step 4 of a session (docs/ARCHITECTURE.md): a warm sandbox that is validated, or a cold start. Undo: destroyed and seen gone, also when
 * it was given up while it still booted.
 */
export async function claimSandbox(context: SessionContext, signal: AbortSignal): Promise<ClaimedSandbox> {
  const { deps, order, timings, unwind } = context;
  const claim = deps.pool.claim(order.profile, signal);
  unwind.push('destroy the sandbox', () => timings.measure('destroy', claim.release));
  return timings.measure('claim', () => claim.ready);
}
