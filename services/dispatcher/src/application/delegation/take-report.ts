import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import type { PermitAnswer } from '@lemniscate/shared/protocol/permit.ts';
import type { AttemptClaim } from '../events/live-attempt.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Transaction } from '../ports/transaction.ts';
import type { ChildRow } from './child-row.ts';

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
    tx.query(
      `WITH reported AS (
         UPDATE sessions SET reported_at = now() WHERE id = $2 AND reported_at IS NULL
         RETURNING actions_used, commands_used, delegated_tokens, delegated_usd
       ), used AS (
         SELECT coalesce(sum(greatest(reserved_tokens * (NOT coalesce(complete, false))::int,
             coalesce(input_tokens, 0) + coalesce(output_tokens, 0) + coalesce(cache_read_tokens, 0)
             + coalesce(cache_write_tokens, 0))), 0) AS tokens,
           coalesce(sum(CASE WHEN complete THEN cost_usd
             ELSE greatest(coalesce(reserved_usd, 0), coalesce(cost_usd, 0)) END), 0) AS usd
         FROM usage WHERE session_id = $2
       )
       UPDATE sessions p SET actions_used = p.actions_used + r.actions_used,
         commands_used = p.commands_used + r.commands_used,
         delegated_tokens = p.delegated_tokens + r.delegated_tokens + used.tokens,
         delegated_usd = p.delegated_usd + r.delegated_usd + used.usd
       FROM reported r, used WHERE p.id = $1`,
      [claim.sessionId, child.id],
    ),
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
