import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import type { NewId } from '@lemniscate/shared/id.ts';
import { policyDigest } from '@lemniscate/shared/policy/policy-digest.ts';
import type { Policy } from '@lemniscate/shared/policy/policy.ts';
import type { AttemptClaim, LiveAttempt } from '../events/live-attempt.ts';
import { harmlessText } from '../events/harmless.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Transaction } from '../ports/transaction.ts';
import type { Proposal } from '../permits/read-proposal.ts';

export interface OpenChildDeps {
  readonly audit: AuditLog;
  readonly events: Pick<EventLog, 'append'>;
  readonly newId: NewId;
  readonly self: string;
}

/**
 * Opens the session of a sub-agent under its parent's lock: its own context, a fresh copy of the same repository, the
 * same person, agent, surface and place, and the policy that the parent has for it.
 * @returns the child's id
 */
export async function openChild(
  deps: OpenChildDeps,
  tx: Transaction,
  claim: AttemptClaim,
  parent: LiveAttempt,
  proposal: Proposal,
  policy: Policy,
): Promise<string> {
  const id = deps.newId('session');
  const task = harmlessText(String(proposal.arguments['task'] ?? ''));
  const digest = policyDigest(policy);
  await tx.query(
    `INSERT INTO sessions (id, project_id, state, phase, instruction, repository, runtime, model, surface, interactive,
       execution, opened_by, policy, policy_digest, pinned_server, follow_ups, parent_id, ancestors, delegated_call,
       delegated_digest, placement_class, priority, queue_delay_seconds, agent,
       agent_version, agent_definition, skills, trace_context)
     SELECT $1, project_id, 'pending', 'queued', $2, repository, 'native', model, surface, interactive, execution,
       opened_by, $3, $4, pinned_server, false, id, ancestors || id, $5, $6,
       placement_class, priority, queue_delay_seconds, agent, agent_version, agent_definition, skills,
       trace_context
     FROM sessions WHERE id = $7`,
    [id, task, JSON.stringify(policy), digest, proposal.callId, proposal.argumentsDigest, parent.id],
  );
  await Promise.all([
    tx.query('INSERT INTO outbox (session_id, generation) VALUES ($1, 1)', [id]),
    tx.query(`UPDATE sessions SET phase = $2 WHERE id = $1`, [
      parent.id,
      parent.state === 'running' ? 'waiting' : parent.phase,
    ]),
    deps.events.append(tx, id, 0, [
      { type: 'state', state: 'pending', phase: 'queued', reason: null, attempt: 0, server: null },
    ]),
    deps.events.append(tx, parent.id, claim.attempt, [
      { type: 'delegation', sessionId: id, callId: proposal.callId, state: 'opened' },
    ]),
    deps.audit.append(tx, sessionChain(id), [
      {
        type: 'session.opened',
        subject: parent.opened_by,
        body: {
          project: parent.project_id,
          policyDigest: digest,
          instructionCommitment: deps.audit.commit('instruction', task),
          repositoryKind: parent.repository.kind,
          agent: parent.agent,
          runtime: 'native',
          model: parent.model,
          surface: parent.surface,
          interactive: parent.interactive,
          execution: parent.execution,
          // a program's act under a person's name: nobody has asked for this session in person
          kind: 'automation',
          parent: parent.id,
          call: proposal.callId,
        },
      },
    ]),
    deps.audit.append(tx, sessionChain(parent.id), [
      {
        type: 'session.delegated',
        subject: deps.self,
        attempt: claim.attempt,
        server: claim.serverId,
        body: { child: id, call: proposal.callId, argumentsDigest: proposal.argumentsDigest },
      },
    ]),
  ]);
  return id;
}
