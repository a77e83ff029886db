import type { CheckpointCause, ResumeOrder } from '@lemniscate/shared/protocol/checkpoint.ts';
import type { Transaction } from '../ports/transaction.ts';

/** A checkpoint as its row has it. */
export interface CheckpointRow extends Record<string, unknown> {
  readonly number: number;
  readonly attempt: number;
  readonly cause: CheckpointCause;
  readonly base_commit: string;
  readonly transcript_sha256: string;
  readonly transcript_bytes: number;
  readonly archive_sha256: string;
  readonly archive_bytes: number;
}

const columns = `number, attempt, cause, base_commit, transcript_sha256, transcript_bytes, archive_sha256, archive_bytes`;

/** The checkpoint that is in force; null for a session that has none. Sent before the first await. */
export async function lastCheckpoint(tx: Transaction, sessionId: string): Promise<CheckpointRow | null> {
  const [row] = await tx.query<CheckpointRow>(
    `SELECT ${columns} FROM checkpoints WHERE session_id = $1 ORDER BY number DESC LIMIT 1`,
    [sessionId],
  );
  return row ?? null;
}

/** What the session's next server is told of a checkpoint. */
export async function resumeOrder(
  checkpoint: CheckpointRow,
  addressOf: (sha256: string) => Promise<string>,
): Promise<ResumeOrder> {
  return {
    number: checkpoint.number,
    baseCommit: checkpoint.base_commit,
    transcript: {
      url: await addressOf(checkpoint.transcript_sha256),
      sha256: checkpoint.transcript_sha256,
      bytes: checkpoint.transcript_bytes,
    },
    archive: {
      url: await addressOf(checkpoint.archive_sha256),
      sha256: checkpoint.archive_sha256,
      bytes: checkpoint.archive_bytes,
    },
  };
}
