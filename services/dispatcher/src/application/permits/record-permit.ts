import type { AuditDraft } from '@lemniscate/shared/audit/entry.ts';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { grantPattern } from '@lemniscate/shared/policy/grant-pattern.ts';
import type { FinalAnswer, KnownApproval } from '@lemniscate/shared/permit/judge-proposal.ts';
import type { Evaluation } from '@lemniscate/shared/policy/evaluate.ts';
import { serviceUri } from '@lemniscate/shared/protocol/identity.ts';
import type { DispatcherEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { harmless, harmlessText } from '../events/harmless.ts';
import type { AttemptClaim, LiveAttempt } from '../events/live-attempt.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Transaction } from '../ports/transaction.ts';
import { loggedReasons } from './logged-reasons.ts';
import type { Proposal } from './read-proposal.ts';

export interface RecordDeps {
  readonly audit: AuditLog;
  readonly events: Pick<EventLog, 'append'>;
  readonly self: string;
}

/** Everything that the writes of one permit are about. */
export interface PermitContext {
  readonly claim: AttemptClaim;
  readonly session: LiveAttempt;
  readonly proposal: Proposal;
  readonly isNew: boolean;
  readonly evaluation: Evaluation | null;
}

/** Writes an answer for good: counters, the call's row, proposal and decision. One round trip, plus the audit log's. */
export async function recordAnswer(
  deps: RecordDeps,
  tx: Transaction,
  context: PermitContext,
  answer: FinalAnswer,
  approval: KnownApproval | null,
): Promise<void> {
  const { claim, session, proposal } = context;
  const ran = answer.verdict === 'go' && proposal.tool === 'run_command';
  const stopReason = answer.verdict === 'stop' ? answer.reason : null;
  const phase = session.state === 'running' && session.phase === 'waiting' ? 'working' : session.phase;
  await Promise.all([
    tx.query(
      `UPDATE sessions SET actions_used = actions_used + $2, commands_used = commands_used + $3,
         stop_reason = coalesce(stop_reason, $4), phase = $5 WHERE id = $1`,
      [claim.sessionId, countsAsAction(context, answer) ? 1 : 0, ran ? 1 : 0, stopReason, phase],
    ),
    writeCall(tx, context, answer),
    deps.audit.append(tx, sessionChain(claim.sessionId), [
      ...proposedEntry(context),
      decidedEntry(deps, context, answer, approval),
    ]),
  ]);
}

/** A call that is stopped by a budget uses no action of it: nothing was done. */
function countsAsAction({ isNew }: PermitContext, answer: FinalAnswer): boolean {
  return isNew && answer.verdict !== 'stop';
}

/** The event of a question. */
export type AskedEvent = Extract<DispatcherEvent, { type: 'approval' }>;

/** Asks a person: the approval, its event and its entry. */
export async function recordQuestion(
  deps: RecordDeps,
  tx: Transaction,
  context: PermitContext,
  approvalId: string,
  people: number,
): Promise<AskedEvent> {
  const { claim, session, proposal } = context;
  const marked = session.parent_id === null ? [] : [`a sub-agent of session ${session.parent_id} asks`];
  const reasons = [...marked, ...(context.evaluation?.reasons ?? [])];
  const asked: AskedEvent = {
    type: 'approval',
    approvalId,
    callId: proposal.callId,
    state: 'waiting',
    tool: proposal.tool,
    title: proposal.title,
    argumentsDigest: proposal.argumentsDigest,
    reasons,
    ...(people === 1 ? {} : { people, approvals: 0 }),
  };
  const phase = session.state === 'running' ? 'waiting' : session.phase;
  await Promise.all([
    tx.query('UPDATE sessions SET actions_used = actions_used + $2, phase = $3 WHERE id = $1', [
      claim.sessionId,
      context.isNew ? 1 : 0,
      phase,
    ]),
    writeCall(tx, context, null),
    tx.query(
      `INSERT INTO approvals (id, session_id, call_id, arguments_digest, policy_digest, tool, title, arguments, reasons,
         people, pattern, state, expires_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'waiting', now() + make_interval(secs => $12))`,
      [
        approvalId,
        claim.sessionId,
        proposal.callId,
        proposal.argumentsDigest,
        session.policy_digest,
        proposal.tool,
        harmless(proposal.title),
        JSON.stringify(harmless(proposal.arguments)),
        JSON.stringify(harmless(reasons)),
        people,
        harmlessText(grantPattern(proposal)),
        session.policy.approvalTtlSeconds,
      ],
    ),
    deps.events.append(tx, claim.sessionId, claim.attempt, [asked]),
    deps.audit.append(tx, sessionChain(claim.sessionId), [
      ...proposedEntry(context),
      {
        ...actor(deps.self, claim),
        type: 'approval.requested',
        body: { approval: approvalId, call: proposal.callId, argumentsDigest: proposal.argumentsDigest },
      },
    ]),
  ]);
  return asked;
}

/** A new attempt repeats the question of an earlier one: its call gets a row, the person is not asked twice. */
export async function recordRepeatedQuestion(
  deps: RecordDeps,
  tx: Transaction,
  context: PermitContext,
): Promise<void> {
  const { claim } = context;
  await Promise.all([
    tx.query('UPDATE sessions SET actions_used = actions_used + 1 WHERE id = $1', [claim.sessionId]),
    writeCall(tx, context, null),
    deps.audit.append(tx, sessionChain(claim.sessionId), proposedEntry(context)),
  ]);
}

async function writeCall(
  tx: Transaction,
  { claim, proposal, evaluation }: PermitContext,
  answer: FinalAnswer | null,
): Promise<void> {
  const decidedBy = answer === null ? null : answer.verdict === 'stop' ? 'automation' : answer.decidedBy;
  await tx.query(
    `INSERT INTO tool_calls (session_id, attempt, call_id, turn, tool, state, arguments_digest, verdict, decided_by, answer,
       path, reported)
     VALUES ($1, $2, $3, $4, $5, 'generated', $6, $7, $8, $9, $10, $11)
     ON CONFLICT (session_id, attempt, call_id) DO UPDATE SET arguments_digest = excluded.arguments_digest,
       path = excluded.path, reported = excluded.reported, verdict = excluded.verdict, decided_by = excluded.decided_by, answer = excluded.answer,
       state = CASE tool_calls.state WHEN 'generating' THEN 'generated' ELSE tool_calls.state END`,
    [
      claim.sessionId,
      claim.attempt,
      proposal.callId,
      proposal.turn,
      proposal.tool,
      proposal.argumentsDigest,
      evaluation?.verdict ?? null,
      decidedBy,
      answer === null ? null : JSON.stringify(harmless(answer)),
      proposal.path === null ? null : harmlessText(proposal.path),
      proposal.reported,
    ],
  );
}

function proposedEntry({ isNew, claim, proposal }: PermitContext): AuditDraft[] {
  if (!isNew) return [];
  return [
    {
      ...actor(serviceUri('agent-server', claim.serverId), claim),
      type: 'tool.proposed',
      body: {
        call: proposal.callId,
        turn: proposal.turn,
        tool: proposal.tool,
        argumentsDigest: proposal.argumentsDigest,
        ...(proposal.path === null ? {} : { path: proposal.path }),
        ...(proposal.reported ? { reported: true } : {}),
      },
    },
  ];
}

function decidedEntry(
  deps: RecordDeps,
  { claim, session, proposal, evaluation }: PermitContext,
  answer: FinalAnswer,
  approval: KnownApproval | null,
): AuditDraft {
  const decidedBy = answer.verdict === 'stop' ? 'automation' : answer.decidedBy;
  const reasons =
    answer.verdict === 'stop' || answer.verdict === 'rejected' ? [answer.reason] : answer.reasons;
  const subject = decidedBy === 'human' ? approval?.subject : null;
  return {
    ...actor(subject ?? deps.self, claim),
    type: 'tool.decided',
    body: {
      call: proposal.callId,
      answer: answer.verdict,
      verdict: evaluation?.verdict ?? null,
      decidedBy,
      reasons: loggedReasons(reasons, session.policy.flaggedPaths),
      // The decision stands; that the program in the sandbox keeps to it is its word.
      ...(proposal.reported ? { reported: true } : {}),
      ...(approval === null ? {} : { approval: approval.id }),
    },
  };
}

function actor(subject: string, claim: AttemptClaim): Pick<AuditDraft, 'subject' | 'attempt' | 'server'> {
  return { subject, attempt: claim.attempt, server: claim.serverId };
}
