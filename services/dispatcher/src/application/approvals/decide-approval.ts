import type { DecideApproval } from '@lemniscate/shared/api/session.ts';
import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { sessionHasEnded } from '@lemniscate/shared/session/state.ts';
import { readWaitedMs } from '../budgets/read-waited.ts';
import { harmlessText } from '../events/harmless.ts';
import { requireDecider } from '../access/require-decider.ts';
import type { Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { stillHasAccess } from '../revocation/revoked-users.ts';
import type { Signals } from '../signals.ts';
import { lockSession } from '../sessions/session-row.ts';
import type { SessionRow } from '../sessions/session-row.ts';
import type { ApprovalRow } from './approval-row.ts';
import { approvalColumns, approvalEvent } from './approval-row.ts';

export interface ApprovalDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly events: EventLog;
  readonly self: string;
  readonly signals: Signals;
}

/** How an approval stops waiting, and who says so. */
interface Settlement {
  readonly state: 'approved' | 'rejected' | 'expired';
  readonly decidedBy: 'human' | 'automation';
  readonly subject: string;
  readonly message: string | null;
}

/**
 * A person's decision. It counts only while the approval waits, the session lives and the digest is the one that the
 * person was shown; whoever comes second learns what was decided.
 * @throws CodedError `forbidden` (not a person's login), `approval_unknown`, `session_ended`, `approval_decided`,
 * `digest_mismatch`
 */
export async function decideApproval(
  deps: ApprovalDeps,
  person: Person,
  sessionId: string,
  approvalId: string,
  input: DecideApproval,
): Promise<ApprovalRow> {
  const decided = await deps.database.transaction(async (tx) => {
    const session = await lockSession(tx, sessionId);
    requireDecider(person, 'approval', session);
    const approval = await readApproval(tx, sessionId, approvalId);
    if (sessionHasEnded(session.state))
      throw new CodedError(
        'session_ended',
        `Session ${sessionId} has ended; nothing waits for this decision.`,
        {
          session: sessionId,
          state: session.state,
        },
      );
    refuseDecided(approval);
    if (approval.arguments_digest !== input.argumentsDigest)
      throw new CodedError(
        'digest_mismatch',
        `Approval ${approvalId} is for arguments with digest ${approval.arguments_digest}, not ${input.argumentsDigest}. Show it again and decide on what is shown.`,
        { approval: approvalId },
      );
    const settle = (state: 'approved' | 'rejected') =>
      settleApproval(deps, tx, session, approvalId, {
        state,
        decidedBy: 'human',
        subject: person.subject,
        message: input.message === undefined ? null : harmlessText(input.message),
      });
    if (input.decision === 'reject') return settle('rejected');
    const votes = await vote(tx, approval, person, input.scope ?? 'once');
    if (votes.length < approval.people) return recordVote(deps, tx, session, person, approvalId);
    // Everybody must have meant the whole session, or it is once.
    if (votes.every(({ scope }) => scope === 'session')) await grant(tx, approval, person);
    return settle('approved');
  });
  if (decided === null) throw alreadyDecided(approvalId, 'decided');
  announceDecision(deps, sessionId);
  return decided;
}

function announceDecision(deps: ApprovalDeps, sessionId: string): void {
  deps.events.announce(sessionId);
  deps.signals.send('approvals', undefined);
}

/**
 * Lets an approval expire, by automation. False when it no longer waits.
 */
export async function expireApproval(
  deps: ApprovalDeps,
  sessionId: string,
  approvalId: string,
): Promise<boolean> {
  const expired = await deps.database.transaction(async (tx) => {
    const session = await lockSession(tx, sessionId);
    if (sessionHasEnded(session.state)) return null;
    return settleApproval(deps, tx, session, approvalId, {
      state: 'expired',
      decidedBy: 'automation',
      subject: deps.self,
      message: null,
    });
  });
  if (expired !== null) announceDecision(deps, sessionId);
  return expired !== null;
}

interface Vote extends Record<string, unknown> {
  readonly subject: string;
  readonly scope: 'once' | 'session';
}

/**
 * One vote a person, under the session's lock.
 * @returns all votes so far that still count
 * @throws CodedError `approval_decided` for a second vote
 */
async function vote(
  tx: Transaction,
  approval: ApprovalRow,
  person: Person,
  scope: Vote['scope'],
): Promise<Vote[]> {
  const added = await tx.query(
    `INSERT INTO approval_votes (approval_id, subject, scope) VALUES ($1, $2, $3)
     ON CONFLICT DO NOTHING RETURNING subject`,
    [approval.id, person.subject, scope],
  );
  if (added.length === 0)
    throw new CodedError(
      'approval_decided',
      `${person.name} has approved ${approval.id} already; it takes ${approval.people} different people.`,
      { approval: approval.id },
    );
  return tx.query<Vote>(
    `SELECT subject, scope FROM approval_votes v WHERE approval_id = $1 AND ${stillHasAccess('v.subject')}`,
    [approval.id],
  );
}

/** A yes that is not the last one that is needed: on record, and the approval goes on waiting. */
async function recordVote(
  deps: ApprovalDeps,
  tx: Transaction,
  session: SessionRow,
  person: Person,
  approvalId: string,
): Promise<ApprovalRow> {
  const row = await readApproval(tx, session.id, approvalId);
  await Promise.all([
    deps.events.append(tx, session.id, session.attempt, [approvalEvent(row)]),
    deps.audit.append(tx, sessionChain(session.id), [
      {
        type: 'approval.voted',
        subject: person.subject,
        ...(session.attempt > 0 ? { attempt: session.attempt } : {}),
        body: {
          approval: row.id,
          call: row.call_id,
          argumentsDigest: row.arguments_digest,
          people: row.people,
        },
      },
    ]),
  ]);
  return row;
}

async function grant(tx: Transaction, approval: ApprovalRow, person: Person): Promise<void> {
  await tx.query(
    `INSERT INTO session_grants (session_id, tool, pattern, policy_digest, approval_id, subject)
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
    [
      approval.session_id,
      approval.tool,
      approval.pattern,
      approval.policy_digest,
      approval.id,
      person.subject,
    ],
  );
}

async function readApproval(tx: Transaction, sessionId: string, approvalId: string): Promise<ApprovalRow> {
  const [row] = await tx.query<ApprovalRow>(
    `SELECT ${approvalColumns} FROM approvals WHERE id = $1 AND session_id = $2`,
    [approvalId, sessionId],
  );
  if (row !== undefined) return row;
  throw new CodedError('approval_unknown', `Session ${sessionId} has no approval ${approvalId}.`, {
    session: sessionId,
    approval: approvalId,
  });
}

function refuseDecided(approval: ApprovalRow): void {
  if (approval.state !== 'waiting') throw alreadyDecided(approval.id, approval.state);
  // The job that expires it has not come by yet; a late yes must not depend on that.
  if (approval.overdue) throw alreadyDecided(approval.id, 'expired');
}

function alreadyDecided(approvalId: string, state: string): CodedError {
  return new CodedError('approval_decided', `Approval ${approvalId} is ${state} already.`, {
    approval: approvalId,
    state,
  });
}

/** The compare-and-set, under the session's lock: of decision, expiry and withdrawal exactly one wins. */
async function settleApproval(
  deps: ApprovalDeps,
  tx: Transaction,
  session: SessionRow,
  approvalId: string,
  decision: Settlement,
): Promise<ApprovalRow | null> {
  const [row] = await tx.query<ApprovalRow>(
    `UPDATE approvals SET state = $3, decided_by = $4, subject = $5, message = $6, decided_at = now()
     WHERE id = $1 AND session_id = $2 AND state = 'waiting' RETURNING ${approvalColumns}`,
    [approvalId, session.id, decision.state, decision.decidedBy, decision.subject, decision.message],
  );
  if (row === undefined) return null;
  await Promise.all([
    recountWaiting(tx, session.id),
    deps.events.append(tx, session.id, session.attempt, [approvalEvent(row)]),
    deps.audit.append(tx, sessionChain(session.id), [
      {
        type: 'approval.decided',
        subject: decision.subject,
        ...(session.attempt > 0 ? { attempt: session.attempt } : {}),
        body: {
          approval: row.id,
          call: row.call_id,
          argumentsDigest: row.arguments_digest,
          decision: decision.state,
          decidedBy: decision.decidedBy,
        },
      },
    ]),
  ]);
  return row;
}

/** The session's waiting time anew from all its approvals, so that overlapping waits count once. */
async function recountWaiting(tx: Transaction, sessionId: string): Promise<void> {
  const waited = await readWaitedMs(tx, sessionId);
  await tx.query('UPDATE sessions SET waited_ms = $2 WHERE id = $1', [sessionId, waited]);
}
