import type { ToolCallView } from '@lemniscate/shared/api/session.ts';
import type { Transaction } from '../ports/transaction.ts';
import { unknownSession } from '../sessions/session-row.ts';

/** Most calls in one answer: sessions have a budget of actions, several attempts may each have used some of it. */
const maxListed = 10_000;

interface ToolCallRow extends Record<string, unknown> {
  readonly call_id: string;
  readonly attempt: number;
  readonly turn: number;
  readonly tool: string;
  readonly state: ToolCallView['state'];
  readonly decided_by: ToolCallView['decidedBy'];
  readonly exit_code: number | null;
  readonly duration_ms: number | null;
  readonly reported: boolean;
}

/**
 * A session's tool calls in the order in which they came up.
 * @throws CodedError `session_unknown`
 */
export async function listToolCalls(database: Transaction, sessionId: string): Promise<ToolCallView[]> {
  const rows = await database.query<ToolCallRow>(
    `SELECT call_id, attempt, turn, tool, state, decided_by, exit_code, duration_ms, reported FROM tool_calls
     WHERE session_id = $1 ORDER BY attempt, turn, proposed_at, call_id LIMIT ${maxListed}`,
    [sessionId],
  );
  if (rows.length === 0) {
    const [session] = await database.query('SELECT 1 FROM sessions WHERE id = $1', [sessionId]);
    if (session === undefined) throw unknownSession(sessionId);
  }
  return rows.map((row) => ({
    callId: row.call_id,
    attempt: row.attempt,
    turn: row.turn,
    tool: row.tool,
    state: row.state,
    decidedBy: row.decided_by,
    exitCode: row.exit_code,
    durationMs: row.duration_ms,
    reported: row.reported,
  }));
}
