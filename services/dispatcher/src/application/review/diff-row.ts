import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { DiffSummary } from '@lemniscate/shared/repository/diff.ts';
import type { Policy } from '@lemniscate/shared/policy/policy.ts';
import type { Transaction } from '../ports/transaction.ts';
import { unknownSession } from '../sessions/session-row.ts';

/** A session's diff as its row has it. */
export interface DiffRow extends Record<string, unknown> {
  readonly session_id: string;
  readonly project_id: string;
  readonly attempt: number;
  readonly summary: DiffSummary;
  readonly patch: Buffer | null;
  readonly object_sha256: string | null;
  readonly state: 'offered' | 'accepted' | 'rejected' | 'discarded';
  readonly accepted_files: readonly string[] | null;
  readonly policy: Policy;
}

/**
 * Reads a session's diff.
 * @throws CodedError `session_unknown`, `diff_missing`
 */
export async function readDiff(tx: Transaction, sessionId: string): Promise<DiffRow> {
  const [row] = await tx.query<DiffRow | (Record<string, unknown> & { state: null; session_state: string })>(
    `SELECT s.id AS session_id, s.project_id, s.attempt, s.state AS session_state, d.summary, d.patch, d.object_sha256,
       d.state, d.accepted_files, s.policy
     FROM sessions s LEFT JOIN diffs d ON d.session_id = s.id WHERE s.id = $1`,
    [sessionId],
  );
  if (row === undefined) throw unknownSession(sessionId);
  if (row.state !== null) return row;
  throw new CodedError(
    'diff_missing',
    `Session ${sessionId} is ${row['session_state']} and has no diff. A session offers one at its end, if it changed anything.`,
    { session: sessionId },
  );
}
