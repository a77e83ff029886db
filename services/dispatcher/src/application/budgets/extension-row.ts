import type { ExtensionView } from '@lemniscate/shared/api/extension.ts';
import type { DispatcherEvent } from '@lemniscate/shared/protocol/session-event.ts';
import type { Transaction } from '../ports/transaction.ts';
import { unknownSession } from '../sessions/session-row.ts';

/** A question for more budget as its row has it. */
export interface ExtensionRow extends Record<string, unknown> {
  readonly session_id: string;
  readonly number: number;
  readonly cause: ExtensionView['cause'];
  readonly state: ExtensionView['state'];
  readonly used: ExtensionView['used'];
  readonly grants: ExtensionView['grants'];
  readonly asked_at: string;
  readonly expires_at: string;
}

export const extensionColumns = 'session_id, number, cause, state, used, grants, asked_at, expires_at';

export function extensionEvent(row: ExtensionRow): DispatcherEvent {
  const { number, state, cause, used, grants } = row;
  return { type: 'extension', number, state, cause, used, grants };
}

/** A session's questions for more budget, oldest first. @throws CodedError `session_unknown` */
export async function listExtensions(tx: Transaction, sessionId: string): Promise<ExtensionView[]> {
  const rows = await tx.query<ExtensionRow>(
    `SELECT ${extensionColumns} FROM budget_extensions WHERE session_id = $1 ORDER BY number LIMIT 2000`,
    [sessionId],
  );
  if (rows.length === 0) {
    const [session] = await tx.query('SELECT 1 FROM sessions WHERE id = $1', [sessionId]);
    if (session === undefined) throw unknownSession(sessionId);
  }
  return rows.map(toExtensionView);
}

export function toExtensionView(row: ExtensionRow): ExtensionView {
  return {
    sessionId: row.session_id,
    number: row.number,
    cause: row.cause,
    state: row.state,
    used: row.used,
    grants: row.grants,
    askedAt: row.asked_at,
    expiresAt: row.expires_at,
  };
}

/** The extension that waits for the session's person, if there is one. Sent before the first await. */
export async function findWaitingExtension(tx: Transaction, sessionId: string): Promise<ExtensionRow | null> {
  const [row] = await tx.query<ExtensionRow>(
    `SELECT ${extensionColumns} FROM budget_extensions WHERE session_id = $1 AND state = 'waiting'`,
    [sessionId],
  );
  return row ?? null;
}
