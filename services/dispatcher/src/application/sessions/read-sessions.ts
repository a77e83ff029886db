import type { SessionPage, SessionView } from '@lemniscate/shared/api/session.ts';
import type { SessionState } from '@lemniscate/shared/session/state.ts';
import type { Transaction } from '../ports/transaction.ts';
import { cursorOf, readCursor } from './session-cursor.ts';
import { selectSessionViews } from './session-view.ts';
import { unknownSession } from './session-row.ts';

/** One session. @throws CodedError `session_unknown` */
export async function getSession(tx: Transaction, sessionId: string): Promise<SessionView> {
  const [view] = await selectSessionViews(tx, { where: 'id = $1', values: [sessionId], limit: 1 });
  if (view === undefined) throw unknownSession(sessionId);
  return view;
}

export interface ListQuery {
  /** From `nextCursor` of the page before. */
  readonly cursor?: string | undefined;
  readonly limit: number;
  readonly state?: SessionState | undefined;
  /** Only sessions of these; null: of every project. */
  readonly projects: readonly string[] | null;
}

/**
 * A page of sessions, newest first. A session that is born while somebody pages appears before the first page and
 * moves nothing.
 * @throws CodedError `request_invalid` for a cursor that is none of ours
 */
export async function listSessions(tx: Transaction, query: ListQuery): Promise<SessionPage> {
  const values: unknown[] = [];
  const conditions = ['true'];
  if (query.cursor !== undefined) {
    values.push(readCursor(query.cursor));
    conditions.push(`id < $${values.length}`);
  }
  if (query.state !== undefined) {
    values.push(query.state);
    conditions.push(`state = $${values.length}`);
  }
  if (query.projects !== null) {
    values.push(query.projects);
    conditions.push(`project_id = ANY($${values.length})`);
  }
  const found = await selectSessionViews(tx, {
    where: conditions.join(' AND '),
    values,
    limit: query.limit + 1,
  });
  const sessions = found.slice(0, query.limit);
  const last = sessions.at(-1);
  return {
    sessions,
    nextCursor: found.length > query.limit && last !== undefined ? cursorOf(last.id) : null,
  };
}
