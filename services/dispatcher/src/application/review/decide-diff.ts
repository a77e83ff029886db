import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { DispatcherEvent } from '@lemniscate/shared/protocol/session-event.ts';
import type { Person } from '../identity.ts';
import { appendToReview } from '../audit/append-about-session.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { lockSession } from '../sessions/session-row.ts';
import { readDiff } from './diff-row.ts';
import type { DiffRow } from './diff-row.ts';

export interface ReviewDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly events: EventLog;
}

/** A person's word on a diff. Accepting names what was seen: the digest, and every file that is flagged. */
export type DiffDecision =
  | { readonly kind: 'accept'; readonly sha256: string; readonly flaggedFiles: readonly string[] }
  | { readonly kind: 'reject' };

/**
 * Decides on an offered diff. The session's chain is closed, so the entry stands in the project's review chain and
 * cites the digest with which the session closed.
 * @throws CodedError `forbidden`, `session_unknown`, `diff_missing`, `diff_decided`, `digest_mismatch`,
 * `request_invalid` (a flagged file was not named)
 */
export async function decideDiff(
  deps: ReviewDeps,
  person: Person,
  sessionId: string,
  decision: DiffDecision,
): Promise<void> {
  if (person.kind !== 'human')
    throw new CodedError(
      'forbidden',
      `${person.name} is not a person's interactive login. Only a person can decide on a diff.`,
    );
  await deps.database.transaction(async (tx) => {
    await lockSession(tx, sessionId);
    const diff = await readDiff(tx, sessionId);
    checkDecision(diff, decision);
    await writeDecision(deps, tx, person, diff, decision.kind === 'accept' ? 'accepted' : 'rejected');
  });
  deps.events.announce(sessionId);
}

function checkDecision(diff: DiffRow, decision: DiffDecision): void {
  if (diff.state === 'discarded')
    throw new CodedError('diff_missing', `The diff of session ${diff.session_id} was discarded.`);
  if (diff.state !== 'offered')
    throw new CodedError('diff_decided', `The diff of session ${diff.session_id} is ${diff.state} already.`, {
      session: diff.session_id,
      state: diff.state,
    });
  if (decision.kind === 'reject') return;
  if (decision.sha256 !== diff.summary.sha256)
    throw new CodedError(
      'digest_mismatch',
      `The offered diff has digest ${diff.summary.sha256}, not ${decision.sha256}. Show it again and decide on what is shown.`,
    );
  const named = new Set(decision.flaggedFiles);
  const unnamed = diff.summary.files
    .filter((file) => file.flags.length > 0 && !named.has(file.path))
    .map((file) => file.path);
  if (unnamed.length > 0)
    throw new CodedError(
      'request_invalid',
      `These files are under dedicated control and have to be named in flaggedFiles: ${unnamed.slice(0, 20).join(', ')}.`,
      { unnamed },
    );
}

async function writeDecision(
  deps: ReviewDeps,
  tx: Transaction,
  person: Person,
  diff: DiffRow,
  state: 'accepted' | 'rejected',
): Promise<void> {
  // The session's lock makes this the only writer; the state is compared all the same.
  const [row] = await tx.query(
    `UPDATE diffs SET state = $2, decided_by = $3, decided_at = now() WHERE session_id = $1 AND state = 'offered'
     RETURNING 1`,
    [diff.session_id, state, person.subject],
  );
  if (row === undefined)
    throw new CodedError('diff_decided', `The diff of session ${diff.session_id} is decided.`);
  const { summary } = diff;
  const event: DispatcherEvent = {
    type: 'diff',
    state,
    files: summary.files.length,
    insertions: summary.insertions,
    deletions: summary.deletions,
  };
  await deps.events.append(tx, diff.session_id, diff.attempt, [event]);
  await appendToReview(deps.audit, tx, { id: diff.session_id, project_id: diff.project_id }, [
    {
      type: 'diff.decided',
      subject: person.subject,
      body: {
        decision: state,
        sha256: summary.sha256,
        flaggedFiles: summary.files.filter((file) => file.flags.length > 0).map((file) => file.path),
      },
    },
  ]);
}
