import type { Clock } from '@lemniscate/shared/clock.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { JsonValue } from '@lemniscate/shared/json.ts';
import type { CheckpointCause, TakeCheckpointAnswer } from '@lemniscate/shared/protocol/checkpoint.ts';
import type { Held } from '@lemniscate/shared/protocol/identity.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import { createBackoff, sleep } from '../backoff.ts';
import type { Journal } from '../journal.ts';
import type { Lease } from '../lease.ts';
import type { Dispatcher } from '../ports/dispatcher.ts';
import type { Log } from '../ports/log.ts';
import type { UploadObject } from '../ports/patch-spool.ts';
import type { Sandbox } from '../ports/sandbox-driver.ts';
import type { Snapshots } from '../ports/snapshots.ts';
import type { WorkingCopy } from '../ports/working-copies.ts';
import { uploadFile } from '../upload-file.ts';
import { diffSoFar } from './diff-so-far.ts';
import { anythingRuns } from './anything-runs.ts';

export interface TakeCheckpointDeps {
  readonly held: Held;
  readonly order: SessionOrder;
  readonly sandbox: Sandbox;
  readonly workingCopy: WorkingCopy;
  readonly snapshots: Snapshots;
  readonly journal: Journal;
  readonly lease: Lease;
  readonly dispatcher: Dispatcher;
  readonly uploadObject: UploadObject;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Stores a session that stands at a boundary: nothing in `calling`, and after the commands are killed nothing of its
 * agent that runs. The row is written last, so whatever fails before it leaves the former checkpoint in force.
 *
 * A checkpoint at an interval does not kill what the agent keeps in the background, such as a server that its next
 * command will ask: it is left out that time, and null is returned.
 */
export async function takeCheckpoint(
  deps: TakeCheckpointDeps,
  cause: CheckpointCause,
  saved: JsonValue,
  signal: AbortSignal,
): Promise<TakeCheckpointAnswer | null> {
  const { sandbox, held, log } = deps;
  if (cause === 'interval' && (await anythingRuns(sandbox, signal))) {
    log.info(held, 'no checkpoint while the agent keeps something in the background');
    return null;
  }
  const began = deps.clock.monotonicMs();
  await sandbox.killCommands();
  await using files = new AsyncDisposableStack();
  const archive = await deps.snapshots.pack(
    { workspace: sandbox.workspaceFolder, home: sandbox.homeFolder, user: sandbox.commandUser },
    signal,
  );
  files.defer(archive.discard);
  const transcript = await deps.snapshots.spool(Buffer.from(JSON.stringify(saved)));
  files.defer(transcript.discard);
  const diff = await diffSoFar(deps, signal);
  const packedMs = deps.clock.monotonicMs() - began;
  const answer = await persistently(deps, signal, async () => {
    // Everything that happened up to here is on record before the checkpoint that stands on it.
    await deps.journal.drained(signal);
    await deps.lease.hold(signal);
    const [storedArchive, storedTranscript] = [
      await uploadFile(deps, archive, signal),
      await uploadFile(deps, transcript, signal),
    ];
    return deps.dispatcher.takeCheckpoint(
      held,
      {
        cause,
        baseCommit: deps.workingCopy.baseCommit,
        archive: storedArchive,
        transcript: storedTranscript,
        workspaceDigest: archive.workspaceDigest,
        homeDigest: archive.homeDigest,
        ...diff,
      },
      signal,
    );
  });
  log.info(
    {
      ...held,
      cause,
      ...answer,
      bytes: archive.bytes,
      packedMs: Math.round(packedMs),
      tookMs: Math.round(deps.clock.monotonicMs() - began),
    },
    'a checkpoint was taken',
  );
  return answer;
}

/** Refusals that a repeat cannot change. */
const final: ReadonlySet<string> = new Set([
  'attempt_stale',
  'request_invalid',
  'conflict',
  'payload_too_large',
]);

async function persistently<Value>(
  { held, log }: Pick<TakeCheckpointDeps, 'held' | 'log'>,
  signal: AbortSignal,
  step: () => Promise<Value>,
): Promise<Value> {
  const backoff = createBackoff(100, 5000);
  for (;;) {
    try {
      return await step();
    } catch (error) {
      if (signal.aborted || (isCodedError(error) && final.has(error.code))) throw error;
      log.warn({ ...held, err: error }, 'a checkpoint could not be stored; trying again');
      // When the time is over, the fault is worth more to the reader than the word that the time is over.
      await sleep(backoff.next(), signal).catch(() => {
        throw error;
      });
    }
  }
}
