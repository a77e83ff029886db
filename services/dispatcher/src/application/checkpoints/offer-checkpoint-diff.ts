import type { DiffSummary } from '@lemniscate/shared/repository/diff.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Transaction } from '../ports/transaction.ts';
import { writeDiff } from '../results/write-diff.ts';
import type { SessionRow } from '../sessions/session-row.ts';

interface OfferedRow extends Record<string, unknown> {
  readonly attempt: number;
  readonly server_id: string;
  readonly diff_summary: DiffSummary;
  readonly diff_patch: Buffer | null;
  readonly diff_object_sha256: string | null;
}

/**
 * A session that is lost for good offers the work that its last checkpoint holds. Under the session's lock, before its
 * chain is closed.
 */
export async function offerCheckpointDiff(
  deps: { readonly audit: AuditLog; readonly events: Pick<EventLog, 'append'> },
  tx: Transaction,
  { id: sessionId, parent_id: parent, attempt: toldBy }: Pick<SessionRow, 'id' | 'parent_id' | 'attempt'>,
): Promise<void> {
  const [row] = await tx.query<OfferedRow>(
    `SELECT attempt, server_id, diff_summary, diff_patch, diff_object_sha256 FROM checkpoints
     WHERE session_id = $1 ORDER BY number DESC LIMIT 1`,
    [sessionId],
  );
  if (row === undefined || row.diff_summary === null) return;
  const claim = { sessionId, attempt: row.attempt, serverId: row.server_id };
  const diff = {
    summary: row.diff_summary,
    patch: row.diff_patch,
    objectSha256: row.diff_object_sha256,
  };
  await writeDiff(deps, tx, claim, { fate: parent === null ? 'offered' : 'reported', diff, toldBy });
}
