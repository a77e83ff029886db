import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { serviceUri } from '@lemniscate/shared/protocol/identity.ts';
import type { DispatcherEvent } from '@lemniscate/shared/protocol/session-event.ts';
import type { DiffFate } from '@lemniscate/shared/session/end.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Transaction } from '../ports/transaction.ts';
import type { CheckedDiff } from './check-patch.ts';

/**
 * Writes a session's diff by its fate. What is discarded keeps only what it was about, no content.
 * @param claim whose work it is: the audit log names that attempt and its server
 * @param written.toldBy the attempt that the event belongs to, where work of an earlier one is offered when the last one is
 * lost: a session's events never go back to an earlier attempt
 */
export async function writeDiff(
  deps: { readonly audit: AuditLog; readonly events: Pick<EventLog, 'append'> },
  tx: Transaction,
  claim: AttemptClaim,
  {
    fate,
    diff,
    toldBy = claim.attempt,
  }: { readonly fate: DiffFate; readonly diff: CheckedDiff; readonly toldBy?: number },
): Promise<void> {
  const { summary } = diff;
  const offered = fate === 'offered';
  const state = offered ? 'offered' : 'discarded';
  const kept = fate !== 'discarded';
  const event: DispatcherEvent = {
    type: 'diff',
    state,
    files: summary.files.length,
    insertions: summary.insertions,
    deletions: summary.deletions,
  };
  await Promise.all([
    tx.query(
      'INSERT INTO diffs (session_id, summary, patch, object_sha256, state) VALUES ($1, $2, $3, $4, $5)',
      [
        claim.sessionId,
        JSON.stringify(summary),
        kept ? diff.patch : null,
        kept ? diff.objectSha256 : null,
        state,
      ],
    ),
    deps.events.append(tx, claim.sessionId, toldBy, [event]),
    offered
      ? deps.audit.append(tx, sessionChain(claim.sessionId), [
          {
            type: 'diff.offered',
            subject: serviceUri('agent-server', claim.serverId),
            attempt: claim.attempt,
            server: claim.serverId,
            body: {
              sha256: summary.sha256,
              bytes: summary.bytes,
              baseCommit: summary.baseCommit,
              files: summary.files.slice(0, 1_000).map((file) => file.path),
              fileCount: summary.files.length,
              insertions: summary.insertions,
              deletions: summary.deletions,
              flagged: summary.files.filter((file) => file.flags.length > 0).length,
            },
          },
        ])
      : undefined,
  ]);
}
