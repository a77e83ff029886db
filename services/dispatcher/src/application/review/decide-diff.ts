import type { DecidedDiff } from '@lemniscate/shared/api/session.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { requiredReviewers } from '@lemniscate/shared/policy/four-eyes.ts';
import {
  flaggedFiles,
  touchedPaths,
  unnamedFlaggedFiles,
  unselectedPaths,
} from '@lemniscate/shared/repository/diff-selection.ts';
import type { DispatcherEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { requireDecider } from '../access/require-decider.ts';
import type { Person } from '../identity.ts';
import { appendToReview } from '../audit/append-about-session.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { stillHasAccess } from '../revocation/revoked-users.ts';
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
  | {
      readonly kind: 'accept';
      readonly sha256: string;
      readonly flaggedFiles: readonly string[];
      /** The accepted files' paths; absent is the whole diff. The others are rejected with it. */
      readonly files?: readonly string[] | undefined;
    }
  | { readonly kind: 'reject' };

/**
 * Decides on an offered diff, whole or by file. The session's chain is closed, so the entry stands in the project's
 * review chain and cites the digest with which the session closed. Where the policy wants several people, all of them
 * have to accept the same files, and one no is enough.
 * @throws CodedError `forbidden`, `session_unknown`, `diff_missing`, `diff_decided`, `digest_mismatch`,
 * `request_invalid` (a flagged file was not named)
 */
export async function decideDiff(
  deps: ReviewDeps,
  person: Person,
  sessionId: string,
  decision: DiffDecision,
): Promise<DecidedDiff> {
  const decided = await deps.database.transaction(async (tx): Promise<DecidedDiff> => {
    requireDecider(person, 'diff', await lockSession(tx, sessionId));
    const diff = await readDiff(tx, sessionId);
    checkDecision(diff, decision);
    if (decision.kind === 'reject') {
      await writeDecision(deps, tx, person, diff, {
        state: 'rejected',
        files: null,
        people: 1,
        acceptedBy: [],
      });
      return { state: 'rejected', acceptedFiles: null, people: 1, acceptedBy: [] };
    }
    const files = acceptedFiles(diff, decision.files);
    const people = requiredReviewers(diff.policy, touchedPaths(diff.summary.files, files));
    const acceptedBy = await vote(tx, person, diff, files);
    const state = acceptedBy.length < people ? 'offered' : 'accepted';
    await writeDecision(deps, tx, person, diff, { state, files, people, acceptedBy });
    return { state, acceptedFiles: files, people, acceptedBy };
  });
  deps.events.announce(sessionId);
  return decided;
}

const allPaths = (diff: DiffRow): string[] => diff.summary.files.map(({ path }) => path);

/** The accepted paths in the diff's order; null for all of them. @throws CodedError `request_invalid` */
function acceptedFiles(diff: DiffRow, files: readonly string[] | undefined): string[] | null {
  if (files === undefined) return null;
  const known = allPaths(diff);
  const unknown = files.filter((path) => !known.includes(path)).slice(0, 20);
  if (unknown.length > 0)
    throw new CodedError(
      'request_invalid',
      `The diff of session ${diff.session_id} does not change ${unknown.join(', ')}. Name files as the diff lists them.`,
      { unknown },
    );
  const wanted = new Set(files);
  const accepted = known.filter((path) => wanted.has(path));
  return accepted.length === known.length ? null : accepted;
}

/**
 * A person's yes to these files. A later one to other files replaces it.
 * @returns who has accepted exactly these files
 * @throws CodedError `diff_decided` for a repeated yes
 */
async function vote(
  tx: Transaction,
  person: Person,
  diff: DiffRow,
  files: readonly string[] | null,
): Promise<string[]> {
  const selection = files === null ? null : JSON.stringify(files);
  const [added] = await tx.query(
    `INSERT INTO diff_votes AS v (session_id, subject, files) VALUES ($1, $2, $3)
     ON CONFLICT (session_id, subject) DO UPDATE SET files = excluded.files, voted_at = now()
       WHERE v.files IS DISTINCT FROM excluded.files
     RETURNING 1`,
    [diff.session_id, person.subject, selection],
  );
  if (added === undefined)
    throw new CodedError(
      'diff_decided',
      `${person.name} has accepted this diff already; it takes other people too.`,
      { session: diff.session_id },
    );
  const votes = await tx.query<{ subject: string }>(
    `SELECT subject FROM diff_votes v WHERE session_id = $1 AND files IS NOT DISTINCT FROM $2::jsonb
       AND ${stillHasAccess('v.subject')} ORDER BY voted_at, subject`,
    [diff.session_id, selection],
  );
  return votes.map(({ subject }) => subject);
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
  const unnamed = unnamedFlaggedFiles(diff.summary.files, decision.files ?? null, decision.flaggedFiles);
  if (unnamed.length > 0)
    throw new CodedError(
      'request_invalid',
      `These files are under dedicated control and have to be named in flaggedFiles: ${unnamed.slice(0, 20).join(', ')}.`,
      { unnamed },
    );
}

interface Outcome {
  readonly state: 'offered' | 'accepted' | 'rejected';
  readonly files: readonly string[] | null;
  readonly people: number;
  readonly acceptedBy: readonly string[];
}

async function writeDecision(
  deps: ReviewDeps,
  tx: Transaction,
  person: Person,
  diff: DiffRow,
  outcome: Outcome,
): Promise<void> {
  const { state, files, people, acceptedBy } = outcome;
  // The session's lock makes this the only writer; the state is compared all the same.
  const [row] =
    state === 'offered'
      ? [diff]
      : await tx.query(
          `UPDATE diffs SET state = $2, decided_by = $3, decided_at = now(), accepted_files = $4
           WHERE session_id = $1 AND state = 'offered' RETURNING 1`,
          [diff.session_id, state, person.subject, files === null ? null : JSON.stringify(files)],
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
    ...(files === null ? {} : { acceptedFiles: files.length }),
    ...(people === 1 ? {} : { people, approvals: acceptedBy.length }),
  };
  await deps.events.append(tx, diff.session_id, diff.attempt, [event]);
  await appendToReview(deps.audit, tx, { id: diff.session_id, project_id: diff.project_id }, [
    {
      type: state === 'offered' ? 'diff.voted' : 'diff.decided',
      subject: person.subject,
      body: {
        ...(state === 'offered' ? {} : { decision: state }),
        decidedBy: 'human',
        sha256: summary.sha256,
        flaggedFiles: flaggedFiles(summary.files, files),
        ...(files === null
          ? {}
          : { acceptedFiles: [...files], rejectedFiles: unselectedPaths(summary.files, files) }),
        ...(people === 1 ? {} : { people, acceptedBy: [...acceptedBy] }),
      },
    },
  ]);
}
