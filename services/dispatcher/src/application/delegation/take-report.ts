import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import type { PermitAnswer } from '@lemniscate/shared/protocol/permit.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Transaction } from '../ports/transaction.ts';
import type { ChildRow } from './child-row.ts';
import { rollUp } from './roll-up.ts';

type Report = NonNullable<Extract<PermitAnswer, { verdict: 'go' }>['result']>;

/** A patch up to this many bytes is part of the report; of a larger one the files are named. */
const reportedPatchBytes = 32 * 1024;

/**
 * Takes the report of a sub-agent that has ended, under its parent's lock: what it used counts for the parent from now
 * on. Its diff is a text in the report and was offered to nobody; what of it the parent's agent does again in its own copy
 * comes out with the parent's diff, the one way out.
 */
export async function takeReport(
  deps: { readonly audit: AuditLog; readonly events: Pick<EventLog, 'append'>; readonly self: string },
  tx: Transaction,
  claim: AttemptClaim,
  child: ChildRow,
): Promise<Report> {
  await Promise.all([
    rollUp(tx, claim.sessionId, child.id),
    deps.events.append(tx, claim.sessionId, claim.attempt, [
      { type: 'delegation', sessionId: child.id, callId: '', state: 'reported' },
    ]),
    deps.audit.append(tx, sessionChain(claim.sessionId), [
      {
        type: 'session.reported',
        subject: deps.self,
        attempt: claim.attempt,
        server: claim.serverId,
        body: {
          child: child.id,
          state: child.state,
          reason: child.reason ?? '',
          ...(child.summary === null
            ? {}
            : { sha256: child.summary.sha256, fileCount: child.summary.files.length }),
        },
      },
    ]),
  ]);
  return { isError: child.state !== 'completed', text: reportText(child) };
}

function reportText(child: ChildRow): string {
  const end =
    child.state === 'completed'
      ? 'The sub-agent has finished.'
      : `The sub-agent ended as ${child.state} (${child.reason ?? 'no reason'}) before it had finished.`;
  return [end, child.message ?? '', changes(child)].filter((part) => part !== '').join('\n\n');
}

function changes({ summary, patch }: ChildRow): string {
  if (summary === null || summary.files.length === 0) return 'It changed no file.';
  if (patch !== null && patch.byteLength <= reportedPatchBytes)
    return `What it changed in its own copy; nothing of it is in yours:\n\n${patch.toString('utf8')}`;
  const files = summary.files.slice(0, 200).map(({ path }) => path);
  return `It changed ${summary.files.length} files in its own copy, too much to show here; nothing of it is in yours:\n${files.join('\n')}`;
}
