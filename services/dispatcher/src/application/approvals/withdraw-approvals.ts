import type { AuditDraft } from '@lemniscate/shared/audit/entry.ts';
import type { DispatcherEvent } from '@lemniscate/shared/protocol/session-event.ts';
import type { Transaction } from '../ports/transaction.ts';

interface WithdrawnApproval extends Record<string, unknown> {
  readonly id: string;
  readonly call_id: string;
  readonly tool: string;
  readonly title: string;
  readonly arguments_digest: string;
  readonly reasons: string[];
}

/**
 * Withdraws every question of a session that still waits: nobody has to answer it any more, and nobody has rejected it.
 * @returns the events and the bodies of the `approval.decided` entries that tell of it
 */
export async function withdrawApprovals(
  tx: Transaction,
  sessionId: string,
): Promise<{ events: DispatcherEvent[]; entries: AuditDraft['body'][] }> {
  const rows = await tx.query<WithdrawnApproval>(
    `UPDATE approvals SET state = 'withdrawn', decided_by = 'automation', decided_at = now()
     WHERE session_id = $1 AND state = 'waiting'
     RETURNING id, call_id, tool, title, arguments_digest, reasons`,
    [sessionId],
  );
  return {
    events: rows.map((row) => ({
      type: 'approval',
      approvalId: row.id,
      callId: row.call_id,
      state: 'withdrawn',
      tool: row.tool,
      title: row.title,
      argumentsDigest: row.arguments_digest,
      reasons: row.reasons,
    })),
    entries: rows.map((row) => ({
      approval: row.id,
      call: row.call_id,
      decision: 'withdrawn',
      decidedBy: 'automation',
    })),
  };
}
