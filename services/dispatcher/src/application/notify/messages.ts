import type { MessageView } from '@lemniscate/shared/api/notify.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Person } from '../identity.ts';
import { pageOf, readCursorOf } from '../objects/object-row.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { findTarget, record } from './targets.ts';

export interface MessageDeps {
  readonly database: Database;
  readonly audit: AuditLog;
}

interface MessageRow extends Record<string, unknown> {
  readonly number: string;
  readonly id: string;
  readonly type: string;
  readonly state: MessageView['state'];
  readonly created_at: string;
  readonly delivered_at: string | null;
  readonly due_at: string;
  readonly attempts: MessageView['attempts'];
}

/** The log of what a target was told, and what it said; the newest first. @throws CodedError `not_found` */
export async function listMessages(
  tx: Transaction,
  person: Person,
  target: string,
  query: {
    readonly cursor?: string | undefined;
    readonly limit: number;
    readonly state?: string | undefined;
  },
): Promise<{ messages: MessageView[]; nextCursor: string | null }> {
  await findTarget(tx, person, target);
  const before = query.cursor === undefined ? null : readCursorOf(query.cursor, 'number');
  const found = await tx.query<MessageRow>(
    `SELECT n.number::text, n.id, n.type, n.state, n.created_at, n.delivered_at, n.due_at, coalesce((
       SELECT jsonb_agg(jsonb_build_object('number', a.number, 'at', a.at, 'status', a.status, 'durationMs', a.duration_ms,
         'fault', a.fault) ORDER BY a.number) FROM notice_attempts a WHERE a.notice_id = n.id), '[]') AS attempts
     FROM notices n WHERE n.target_id = $1 AND ($2::bigint IS NULL OR n.number < $2) AND ($3::text IS NULL OR n.state = $3)
     ORDER BY n.number DESC LIMIT $4`,
    [target, before, query.state ?? null, query.limit + 1],
  );
  const { rows, nextCursor } = pageOf(found, query.limit, ({ number }) => number);
  return {
    messages: rows.map((row) => ({
      id: row.id,
      type: row.type,
      state: row.state,
      createdAt: row.created_at,
      deliveredAt: row.delivered_at,
      nextAt: row.state === 'pending' ? row.due_at : null,
      attempts: row.attempts,
    })),
    nextCursor,
  };
}

/** Sends a message once more, whatever became of it; its id stays, so that a receiver knows it again. */
export async function sendAgain(
  deps: MessageDeps,
  person: Person,
  target: string,
  message: string,
): Promise<void> {
  await deps.database.transaction(async (tx) => {
    const { project_id: project } = await findTarget(tx, person, target, 'FOR UPDATE');
    const [row] = await tx.query(
      `UPDATE notices SET state = 'pending', tries = 0, due_at = now() WHERE id = $1 AND target_id = $2
         AND payload -> 'data' <> '{}' RETURNING id`,
      [message, target],
    );
    if (row === undefined)
      throw new CodedError(
        'not_found',
        `Target ${target} has no message ${message}, or what it said was erased.`,
        { message },
      );
    await recordSending(deps, tx, person, { act: 'message_resent', target, project, notice: message });
  });
}

/** Sends a message that says nothing, to see whether it arrives. @returns its id */
export async function sendTest(deps: MessageDeps, person: Person, target: string): Promise<string> {
  return deps.database.transaction(async (tx) => {
    const { project_id: project } = await findTarget(tx, person, target, 'FOR UPDATE');
    const [row] = await tx.query<{ id: string }>(
      `INSERT INTO notices (target_id, type, payload, about)
       VALUES ($1, 'test', jsonb_build_object('type', 'test', 'timestamp',
         to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'data', jsonb_build_object('target', $1::text)),
         'test:' || gen_random_uuid()) RETURNING id`,
      [target],
    );
    if (row === undefined) throw new Error('a new message was not returned');
    await recordSending(deps, tx, person, { act: 'target_tested', target, project, notice: row.id });
    return row.id;
  });
}

/** Somebody has had something sent outside. */
function recordSending(
  deps: MessageDeps,
  tx: Transaction,
  { subject }: Person,
  body: { readonly act: string; readonly target: string; readonly project: string; readonly notice: string },
): Promise<void> {
  return record(deps, tx, body.project, { type: 'admin.acted', subject, body });
}
