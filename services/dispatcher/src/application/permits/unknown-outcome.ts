import type { AgentDefinition } from '@lemniscate/shared/api/agent.ts';
import type { Evaluation } from '@lemniscate/shared/policy/evaluate.ts';
import type { Policy } from '@lemniscate/shared/policy/policy.ts';
import type { Transaction } from '../ports/transaction.ts';

/**
 * Whether running a call again may do something twice. A sandbox without a way out only computes; one with egress or
 * credentials may have published, paid or deleted something before its server was lost.
 */
export function mayHaveActedOutside(session: {
  readonly policy: Pick<Policy, 'egress'>;
  readonly agent_definition: Partial<Pick<AgentDefinition, 'credentials'>>;
}): boolean {
  return (session.policy.egress ?? []).length > 0 || (session.agent_definition.credentials ?? []).length > 0;
}

/**
 * A call whose like was running when an attempt was lost is asked about, whatever the policy says of it otherwise:
 * nobody knows whether it was done. What is disabled stays so.
 */
export function hardenUnknown(evaluation: Evaluation): Evaluation {
  if (evaluation.verdict !== 'allowedWithoutPermission') return evaluation;
  const why =
    'an earlier attempt was lost while this ran, it could reach the outside, and nobody knows whether it was done';
  return { ...evaluation, verdict: 'allowedWithPermission', reasons: [...evaluation.reasons, why] };
}

/**
 * Approvals of the calls that an attempt was lost in are used up: the same call, proposed again, needs a fresh one. The
 * old row keeps its decision under the lost attempt's name. The caller holds the session's lock.
 */
export async function useUpApprovals(tx: Transaction, sessionId: string, attempt: number): Promise<void> {
  await tx.query(
    `UPDATE approvals a SET call_id = a.call_id || '@' || c.attempt
     FROM tool_calls c
     WHERE a.session_id = $1 AND c.session_id = $1 AND c.attempt = $2 AND c.call_id = a.call_id
       AND c.abandoned_at IS NOT NULL AND a.state <> 'waiting'`,
    [sessionId, attempt],
  );
}
