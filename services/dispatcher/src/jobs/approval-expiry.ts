import { expireApproval } from '../application/approvals/decide-approval.ts';
import { fleetNow } from '../application/recovery/fleet-clock.ts';
import type { ApprovalDeps } from '../application/approvals/decide-approval.ts';

/** How many are taken at once; the next run takes the rest. */
const atOnce = 200;

/**
 * Lets overdue approvals expire, by automation: a wait that ran out is never written down as a person's no.
 * @returns how many expired
 */
export async function expireApprovals(deps: ApprovalDeps): Promise<number> {
  const overdue = await deps.database.query<{ id: string; session_id: string }>(
    `SELECT id, session_id FROM approvals WHERE state = 'waiting' AND expires_at <= ${fleetNow}
     ORDER BY expires_at LIMIT ${atOnce}`,
  );
  let expired = 0;
  for (const { id, session_id: sessionId } of overdue)
    if (await expireApproval(deps, sessionId, id)) expired += 1;
  return expired;
}
