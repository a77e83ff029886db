import type { ApprovalView } from '@lemniscate/shared/api/session.ts';
import type { DispatcherEvent } from '@lemniscate/shared/protocol/session-event.ts';
import type { Transaction } from '../ports/transaction.ts';
import { fleetNow } from '../recovery/fleet-clock.ts';
import { stillHasAccess } from '../revocation/revoked-users.ts';
import { unknownSession } from '../sessions/session-row.ts';

/** An approval as its row has it. */
export interface ApprovalRow extends Record<string, unknown> {
  readonly id: string;
  readonly session_id: string;
  readonly call_id: string;
  readonly arguments_digest: string;
  readonly tool: string;
  readonly title: string;
  readonly arguments: ApprovalView['arguments'];
  readonly reasons: string[];
  readonly state: ApprovalView['state'];
  readonly people: number;
  readonly approved_by: string[];
  readonly pattern: string;
  readonly parent_id: string | null;
  readonly policy_digest: string;
  readonly created_at: string;
  readonly expires_at: string;
  /** Its time is over, by the record's clock. */
  readonly overdue: boolean;
}

export const approvalColumns = `id, session_id, call_id, arguments_digest, tool, title, arguments, reasons, state,
  created_at, expires_at, expires_at <= ${fleetNow} AS overdue, people, pattern, policy_digest,
  (SELECT s.parent_id FROM sessions s WHERE s.id = approvals.session_id) AS parent_id,
  ARRAY(SELECT v.subject FROM approval_votes v WHERE v.approval_id = approvals.id
    AND ${stillHasAccess('v.subject', 'coalesce(approvals.decided_at, now())')} ORDER BY v.voted_at) AS approved_by`;

export function approvalEvent(row: ApprovalRow): DispatcherEvent {
  return {
    type: 'approval',
    approvalId: row.id,
    callId: row.call_id,
    state: row.state,
    tool: row.tool,
    title: row.title,
    argumentsDigest: row.arguments_digest,
    reasons: row.reasons,
    ...(row.people === 1 ? {} : { people: row.people, approvals: row.approved_by.length }),
  };
}

export function toApprovalView(row: ApprovalRow): ApprovalView {
  return {
    id: row.id,
    sessionId: row.session_id,
    callId: row.call_id,
    tool: row.tool,
    title: row.title,
    arguments: row.arguments,
    argumentsDigest: row.arguments_digest,
    reasons: row.reasons,
    state: row.state,
    people: row.people,
    approvedBy: row.approved_by,
    pattern: row.pattern,
    delegatedBy: row.parent_id,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}

/** Most approvals in one answer; a session has at most as many as its budget has actions. */
const maxListed = 1_000;

/**
 * A session's approvals, oldest first.
 * @throws CodedError `session_unknown`
 */
export async function listApprovals(database: Transaction, sessionId: string): Promise<ApprovalView[]> {
  const rows = await database.query<ApprovalRow>(
    `SELECT ${approvalColumns} FROM approvals WHERE session_id = $1 ORDER BY created_at, id LIMIT ${maxListed}`,
    [sessionId],
  );
  if (rows.length === 0) {
    const [session] = await database.query('SELECT 1 FROM sessions WHERE id = $1', [sessionId]);
    if (session === undefined) throw unknownSession(sessionId);
  }
  return rows.map(toApprovalView);
}

/**
 * Everything that waits for a person, the next to expire first.
 * @param projects only what belongs to these; null: to every project
 */
export async function listWaitingApprovals(
  database: Transaction,
  projects: readonly string[] | null,
): Promise<ApprovalView[]> {
  const rows = await database.query<ApprovalRow>(
    `SELECT ${approvalColumns} FROM approvals WHERE state = 'waiting' AND ($1::text[] IS NULL
       OR session_id IN (SELECT s.id FROM sessions s WHERE s.project_id = ANY($1)))
     ORDER BY expires_at, id LIMIT ${maxListed}`,
    [projects],
  );
  return rows.map(toApprovalView);
}
