import type { AgentDefinition } from '../api/agent.ts';
import type { Evaluation } from '../policy/evaluate.ts';
import type { Policy } from '../policy/policy.ts';

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
