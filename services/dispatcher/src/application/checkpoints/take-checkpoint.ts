import { sessionChain } from '@lemniscate/shared/audit/entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { TakeCheckpoint, TakeCheckpointAnswer } from '@lemniscate/shared/protocol/checkpoint.ts';
import { serviceUri } from '@lemniscate/shared/protocol/identity.ts';
import type { PauseReason } from '@lemniscate/shared/session/end.ts';
import { lockLiveAttempt, staleAttempt } from '../events/live-attempt.ts';
import type { AttemptClaim, LiveAttempt } from '../events/live-attempt.ts';
import { putAway } from '../pausing/put-away.ts';
import type { PutAwayDeps } from '../pausing/put-away.ts';
import { findWait } from '../pausing/waits.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import type { Signals } from '../signals.ts';
import { checkPatch } from '../results/check-patch.ts';
import type { CheckedDiff } from '../results/check-patch.ts';
import { attemptOwner, readUpload } from '../uploads/upload-row.ts';
import { lastCheckpoint } from './checkpoint-row.ts';

export interface TakeCheckpointDeps extends PutAwayDeps {
  readonly database: Database;
  readonly events: EventLog;
  readonly signals: Signals;
  /** Waits a moment for the attempt's model exchanges to be settled and settles the rest. */
  readonly settleUsage: (claim: AttemptClaim) => Promise<void>;
}

/**
 * Makes a checkpoint the one in force: one row, written when everything that it names is stored and verified. A pause
 * ends the attempt in the same transaction, unless what the session waited for has come meanwhile.
 * @throws CodedError `attempt_stale`; `conflict` while something is in `calling`; `not_found`, `digest_mismatch` for
 * objects that are not stored
 */
export async function takeCheckpoint(
  deps: TakeCheckpointDeps,
  claim: AttemptClaim,
  given: TakeCheckpoint,
): Promise<TakeCheckpointAnswer> {
  const repeated = await isRepeatedPause(deps.database, claim, given);
  if (repeated !== null) return { outcome: 'paused', number: repeated };
  if (given.cause === 'pause') await deps.settleUsage(claim);
  const answer = await deps.database.transaction((tx) => write(deps, tx, claim, given));
  deps.events.announce(claim.sessionId);
  if (answer.outcome === 'paused') deps.signals.send('slotFreed', undefined);
  return answer;
}

async function write(
  deps: TakeCheckpointDeps,
  tx: Transaction,
  claim: AttemptClaim,
  given: TakeCheckpoint,
): Promise<TakeCheckpointAnswer> {
  const session = await lockLiveAttempt(tx, claim);
  if (session.state !== 'running')
    throw new CodedError(
      'conflict',
      `Session ${session.id} is ${session.state}; it has nothing to store yet.`,
    );
  await refuseCalling(tx, claim);
  for (const object of [given.archive, given.transcript]) await requireStored(tx, claim, object);
  const number = ((await lastCheckpoint(tx, session.id))?.number ?? 0) + 1;
  const pause = given.cause === 'pause' ? await pauseOf(tx, session) : null;
  const diff =
    given.diff === undefined
      ? null
      : await checkPatch(
          tx,
          { diff: given.diff, patch: given.patch ?? null },
          attemptOwner(claim),
          session.policy,
        );
  await insert(tx, session, number, given, diff);
  await deps.events.append(tx, session.id, session.attempt, [
    { type: 'checkpoint', number, cause: given.cause, bytes: given.archive.bytes },
  ]);
  await deps.audit.append(tx, sessionChain(session.id), [
    {
      type: 'session.checkpointed',
      subject: serviceUri('agent-server', claim.serverId),
      attempt: claim.attempt,
      server: claim.serverId,
      body: {
        number,
        cause: given.cause,
        archiveDigest: given.archive.sha256,
        transcriptDigest: given.transcript.sha256,
        workspaceDigest: given.workspaceDigest,
        homeDigest: given.homeDigest,
        bytes: given.archive.bytes,
      },
    },
  ]);
  if (given.cause === 'interval') return { outcome: 'stored', number };
  if (pause === null) {
    await tx.query('UPDATE sessions SET pause_requested = NULL, pause_requested_by = NULL WHERE id = $1', [
      session.id,
    ]);
    return { outcome: 'stay', number };
  }
  await putAway(deps, tx, session, { ...pause, checkpoint: number, subject: pause.subject ?? deps.self });
  return { outcome: 'paused', number };
}

/** Why the session is paused now; null when nobody wants it any more, and nothing is waited for. */
async function pauseOf(
  tx: Transaction,
  session: LiveAttempt,
): Promise<{ reason: PauseReason; subject: string | null } | null> {
  if (session.stop_reason !== null) return null;
  if (session.pause_requested === 'by_person')
    return { reason: 'by_person', subject: session.pause_requested_by };
  if (session.pause_requested === null) return null;
  const wait = await findWait(tx, session.id);
  if (wait !== null) return { reason: wait.reason, subject: null };
  // Not waiting for anybody, it goes on by itself as soon as it is stored.
  return session.pause_requested === 'drained' ? { reason: 'drained', subject: null } : null;
}

/** A resumed model must never remember edits that are gone, so nothing may be half-way between the two. */
async function refuseCalling(tx: Transaction, claim: AttemptClaim): Promise<void> {
  const [calling] = await tx.query<{ call_id: string }>(
    `SELECT call_id FROM tool_calls WHERE session_id = $1 AND attempt = $2 AND state = 'calling' LIMIT 1`,
    [claim.sessionId, claim.attempt],
  );
  if (calling === undefined) return;
  throw new CodedError(
    'conflict',
    `Call ${calling.call_id} of session ${claim.sessionId} is in calling; a checkpoint is taken between two calls.`,
    { session: claim.sessionId, call: calling.call_id },
  );
}

async function requireStored(
  tx: Transaction,
  claim: AttemptClaim,
  { uploadId, sha256, bytes }: TakeCheckpoint['archive'],
): Promise<void> {
  const upload = await readUpload(tx, uploadId, attemptOwner(claim));
  if (upload.state === 'stored' && upload.sha256 === sha256 && upload.bytes === bytes) return;
  throw new CodedError(
    'digest_mismatch',
    `The checkpoint names ${bytes} bytes with digest ${sha256}, but upload ${uploadId} is ${upload.state} with ${upload.bytes} bytes and digest ${upload.sha256}.`,
  );
}

async function insert(
  tx: Transaction,
  session: LiveAttempt,
  number: number,
  given: TakeCheckpoint,
  diff: CheckedDiff | null,
): Promise<void> {
  await tx.query(
    `INSERT INTO checkpoints (session_id, number, attempt, cause, event_position, base_commit, transcript_sha256,
       transcript_bytes, archive_sha256, archive_bytes, workspace_digest, home_digest, server_id,
       diff_summary, diff_patch, diff_object_sha256)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
    [
      session.id,
      number,
      session.attempt,
      given.cause,
      session.event_position,
      given.baseCommit,
      given.transcript.sha256,
      given.transcript.bytes,
      given.archive.sha256,
      given.archive.bytes,
      given.workspaceDigest,
      given.homeDigest,
      session.server_id,
      diff === null ? null : JSON.stringify(diff.summary),
      diff?.patch ?? null,
      diff?.objectSha256 ?? null,
    ],
  );
}

/** The answer to a pause may have been lost: the attempt is over by its own checkpoint, which is what the server asks. */
async function isRepeatedPause(
  database: Database,
  claim: AttemptClaim,
  given: TakeCheckpoint,
): Promise<number | null> {
  if (given.cause !== 'pause') return null;
  const [row] = await database.query<{ number: number; server_id: string; state: string }>(
    `SELECT c.number, a.server_id, a.state FROM attempts a JOIN checkpoints c USING (session_id, attempt)
     WHERE a.session_id = $1 AND a.attempt = $2 AND c.cause = 'pause' AND c.archive_sha256 = $3
       AND c.transcript_sha256 = $4 AND a.state = 'ended' ORDER BY c.number DESC LIMIT 1`,
    [claim.sessionId, claim.attempt, given.archive.sha256, given.transcript.sha256],
  );
  if (row === undefined) return null;
  if (row.server_id !== claim.serverId) throw staleAttempt(claim);
  return row.number;
}
