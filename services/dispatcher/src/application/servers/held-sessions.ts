import type { Transaction } from '../ports/transaction.ts';
import { silentAfterMs } from './server-fault.ts';
import type { ServerRow } from './server-row.ts';

/**
 * How many sessions lie on each server: those that it said it holds, of which some may have ended in the record and not
 * there yet, and those that the record has given it since it last spoke. Of a silent server only the record knows.
 */
export async function countHeld(tx: Transaction): Promise<(server: ServerRow) => number> {
  const rows = await tx.query<{ server_id: string; sessions: string[] }>(
    `SELECT server_id, array_agg(session_id) AS sessions FROM attempts WHERE state = 'live' GROUP BY server_id`,
  );
  const live = new Map(rows.map((row) => [row.server_id, row.sessions]));
  return ({ id, status, silent_ms: silentMs }) => {
    const said = silentMs === null || silentMs > silentAfterMs ? [] : (status?.held ?? []);
    return new Set([...(live.get(id) ?? []), ...said.map(({ sessionId }) => sessionId)]).size;
  };
}
