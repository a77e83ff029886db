import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import type { Proposal } from '../permits/read-proposal.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Transaction } from '../ports/transaction.ts';
import { fleetNow } from '../recovery/fleet-clock.ts';
import { approvalColumns, approvalEvent } from './approval-row.ts';
import type { ApprovalRow } from './approval-row.ts';

/** What an adopted approval says of the call. */
export type AdoptedApproval = ApprovalRow & {
  readonly decided_by: 'human' | 'automation' | null;
  readonly subject: string | null;
  readonly message: string | null;
};

/**
 * A session that goes on elsewhere from an earlier point asks its model again, and the model gives its requests new ids.
 * What a person was asked about in the lost attempt, and what they have said to it, is for the same tool, arguments and
 * policy: the approval moves to the new call instead of asking twice. One whose call was ever permitted has been used.
 * Under the session's lock.
 */
export async function adoptApproval(
  deps: { readonly audit: AuditLog; readonly events: Pick<EventLog, 'append'>; readonly self: string },
  tx: Transaction,
  claim: AttemptClaim,
  { callId, tool, argumentsDigest }: Pick<Proposal, 'callId' | 'tool' | 'argumentsDigest'>,
): Promise<AdoptedApproval | null> {
  const [row] = await tx.query<AdoptedApproval>(
    `UPDATE approvals SET call_id = $3 WHERE id = (
       SELECT a.id FROM approvals a JOIN sessions s ON s.id = a.session_id AND s.policy_digest = a.policy_digest
       WHERE a.session_id = $1 AND a.tool = $4 AND a.arguments_digest = $5
         AND a.state IN ('waiting', 'approved', 'rejected') AND (a.state <> 'waiting' OR a.expires_at > ${fleetNow})
         AND EXISTS (SELECT FROM tool_calls c WHERE c.session_id = $1 AND c.call_id = a.call_id AND c.attempt < $2)
         AND NOT EXISTS (SELECT FROM tool_calls c WHERE c.session_id = $1 AND c.call_id = a.call_id
           AND (c.attempt >= $2 OR c.answer IS NOT NULL))
       ORDER BY a.created_at, a.id LIMIT 1)
     RETURNING ${approvalColumns}, decided_by, subject, message`,
    [claim.sessionId, claim.attempt, callId, tool, argumentsDigest],
  );
  if (row === undefined) return null;
  await Promise.all([
    deps.events.append(tx, claim.sessionId, claim.attempt, [approvalEvent(row)]),
    deps.audit.append(tx, sessionChain(claim.sessionId), [
      {
        type: 'approval.requested',
        subject: deps.self,
        attempt: claim.attempt,
        server: claim.serverId,
        body: { approval: row.id, call: callId, argumentsDigest },
      },
    ]),
  ]);
  return row;
}
