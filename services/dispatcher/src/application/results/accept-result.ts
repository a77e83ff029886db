import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { z } from 'zod';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { serviceUri } from '@lemniscate/shared/protocol/identity.ts';
import { sessionResultSchema } from '@lemniscate/shared/protocol/session-result.ts';
import type { SessionResult } from '@lemniscate/shared/protocol/session-result.ts';
import { diffFate, sessionEnds } from '@lemniscate/shared/session/end.ts';
import type { EndReason } from '@lemniscate/shared/session/end.ts';
import { acceptEnvironment } from '../environments/settle-build.ts';
import { harmless } from '../events/harmless.ts';
import { lockLiveAttempt, staleAttempt } from '../events/live-attempt.ts';
import type { AttemptClaim, LiveAttempt } from '../events/live-attempt.ts';
import type { EventLog } from '../ports/event-log.ts';
import { pushMemory } from '../agents/memory.ts';
import { keepFiles } from '../agents/session-files.ts';
import type { Database, Transaction } from '../ports/transaction.ts';
import { endSession } from '../sessions/end-session.ts';
import type { EndSessionDeps } from '../sessions/end-session.ts';
import type { Signals } from '../signals.ts';
import { attemptOwner } from '../uploads/upload-row.ts';
import { checkPatch } from './check-patch.ts';
import { writeDiff } from './write-diff.ts';

export interface ResultDeps extends EndSessionDeps {
  readonly database: Database;
  readonly events: EventLog;
  readonly signals: Signals;
  /** Waits a moment for the attempt's model exchanges to be settled and settles the rest: usage is final at the end. */
  readonly settleUsage: (claim: AttemptClaim) => Promise<void>;
}

/** Longest body of a result: an inline patch in base64 and the list of up to 100,000 files. Bytes. */
export const resultBodyLimit = 32 * 1024 * 1024;

/** Ends that only the dispatcher can know of; a server that names one is wrong. */
const dispatcherReasons: readonly EndReason[] = [
  'stopped',
  'revoked',
  'server_lost',
  'queue_deadline',
  'no_capacity',
];

/** Stops that the dispatcher itself has put on record. */
const budgetReasons: readonly string[] = [
  'time_budget',
  'budget_actions',
  'budget_tokens',
  'budget_cost',
  'budget_commands',
] satisfies EndReason[];

/**
 * Why the session ends. A budget that the dispatcher found used up is the reason, whatever a server makes of the refusals
 * that follow from it (a model that answers 402 looks like a failed one); only work that was finished stays finished.
 */
function reasonOf(session: LiveAttempt, result: SessionResult): EndReason {
  const { stop_reason: stopReason } = session;
  if (result.reason === 'finished' || stopReason === null || !budgetReasons.includes(stopReason))
    return result.reason;
  return stopReason as EndReason;
}

/**
 * Takes an attempt's last word: checks the patch, offers or discards the diff as the table of ends has it, and ends the
 * session, in one transaction. The same result again gets the same answer; another one is refused.
 * @throws CodedError `attempt_stale`, `conflict`, `request_invalid`, `digest_mismatch`, `transition_refused`
 */
export async function acceptResult(
  deps: ResultDeps,
  claim: AttemptClaim,
  body: unknown,
): Promise<{ readonly accepted: true }> {
  const parsed = sessionResultSchema.safeParse(body);
  if (!parsed.success)
    throw new CodedError('request_invalid', `The result cannot be read: ${z.prettifyError(parsed.error)}`);
  // Before the digest is taken: half a surrogate pair has no canonical form.
  const result = harmless(parsed.data);
  if (dispatcherReasons.includes(result.reason))
    throw new CodedError('request_invalid', `A server cannot end a session for the reason ${result.reason}.`);
  const digest = createHash('sha256')
    .update(canonicalize(result) ?? '')
    .digest('hex');
  if (await isRepeat(deps.database, claim, digest)) return { accepted: true };
  await deps.settleUsage(claim);
  const ended = await deps.database.transaction((tx) => writeResult(deps, tx, claim, result, digest));
  if (!ended) return { accepted: true };
  deps.events.announce(claim.sessionId);
  deps.signals.send('ended', claim.sessionId);
  deps.signals.send('slotFreed', undefined);
  return { accepted: true };
}

/** Whether this attempt has given this very result before; another one is refused. */
async function isRepeat(tx: Transaction, claim: AttemptClaim, digest: string): Promise<boolean> {
  const [row] = await tx.query<{ result_digest: string | null }>(
    'SELECT result_digest FROM attempts WHERE session_id = $1 AND attempt = $2 AND server_id = $3',
    [claim.sessionId, claim.attempt, claim.serverId],
  );
  if (row === undefined) throw staleAttempt(claim);
  if (row.result_digest === null) return false;
  if (row.result_digest === digest) return true;
  throw new CodedError(
    'conflict',
    `Attempt ${claim.attempt} of session ${claim.sessionId} has given another result before; that one stands.`,
    { session: claim.sessionId, attempt: claim.attempt },
  );
}

async function writeResult(
  deps: ResultDeps,
  tx: Transaction,
  claim: AttemptClaim,
  result: SessionResult,
  digest: string,
): Promise<boolean> {
  const session = await lockOrRepeat(tx, claim, digest);
  if (session === null) return false;
  const diff = await checkPatch(tx, result, attemptOwner(claim), session.policy);
  await tx.query('UPDATE attempts SET result_digest = $3 WHERE session_id = $1 AND attempt = $2', [
    claim.sessionId,
    claim.attempt,
    digest,
  ]);
  const { reason, message } = await settleEnvironment(deps, tx, session, result);
  const notices = await keepCollected(deps, tx, session, reason, result);
  const fate = diffFate(reason, session.parent_id !== null);
  if (diff !== null) await writeDiff(deps, tx, claim, { fate, diff });
  await endSession(deps, tx, {
    sessionId: claim.sessionId,
    reason,
    message: [message, ...notices].join('\n').trim(),
    subject: serviceUri('agent-server', claim.serverId),
    timingsMs: result.timingsMs,
  });
  return true;
}

/** The end, once what a build has made is the project's environment, or cannot be. */
async function settleEnvironment(
  deps: ResultDeps,
  tx: Transaction,
  session: LiveAttempt,
  result: SessionResult,
): Promise<{ readonly reason: EndReason; readonly message: string }> {
  const reason = reasonOf(session, result);
  if (session.builds_environment === null || reason !== 'finished')
    return { reason, message: result.message };
  const fault =
    result.environment === undefined
      ? 'The server has built nothing.'
      : await acceptEnvironment(deps, tx, session, result.environment);
  if (fault === null) return { reason, message: result.message };
  return { reason: 'environment_failed', message: fault };
}

/** Of two results at the same moment the second one finds the session ended: then it is a repeat or refused. */
async function lockOrRepeat(
  tx: Transaction,
  claim: AttemptClaim,
  digest: string,
): Promise<LiveAttempt | null> {
  try {
    return await lockLiveAttempt(tx, claim);
  } catch (error) {
    if (await isRepeat(tx, claim, digest)) return null;
    throw error;
  }
}

/** What the agent kept outside the repository, as the table of ends has it. */
async function keepCollected(
  deps: ResultDeps,
  tx: Transaction,
  session: LiveAttempt,
  reason: EndReason,
  { collected }: SessionResult,
): Promise<string[]> {
  const end = sessionEnds[reason];
  const files = end.diff === 'no' ? [] : (collected?.files ?? []);
  const remembered =
    end.pushMemory && collected?.memory !== undefined
      ? await pushMemory(deps, tx, session, collected.memory, session.now, collected.refused)
      : [];
  return [...(await keepFiles(tx, session, files)), ...remembered];
}
