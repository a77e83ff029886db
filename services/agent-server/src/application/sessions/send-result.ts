import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { inlinePatchBytes } from '@lemniscate/shared/protocol/session-result.ts';
import type { SessionResult } from '@lemniscate/shared/protocol/session-result.ts';
import { createBackoff, sleep } from '../backoff.ts';
import { cut } from '../text-stream.ts';
import { uploadFile } from '../upload-file.ts';
import { pushCollected } from './push-collected.ts';
import type { Ending } from './ending.ts';
import type { FinishedWork } from './finish-session.ts';
import type { SessionContext } from './session-context.ts';

/** How long the result is offered to the dispatcher before its patch is put aside for an operator. */
const deadlineMs = 10 * 60_000;
const messageLength = 16_000;
/** How long it is then told that the result is unsaved. */
const unsavedMs = 60_000;

/**
 * Step 7 of a session (docs/ARCHITECTURE.md): the last event is acknowledged, the patch is where the dispatcher can read it, then the
 * result is posted until it is accepted or the attempt turns out to be no longer ours.
 */
export async function sendResult(
  context: SessionContext,
  work: FinishedWork,
  late: AbortSignal = AbortSignal.timeout(deadlineMs),
): Promise<void> {
  const { deps, held, interruption } = context;
  const signal = AbortSignal.any([interruption.everything, late]);
  try {
    await context.journal.drained(signal);
    const { collected } = work;
    if (collected !== null)
      await persistently(context, signal, () => pushCollected(context, collected, signal));
    const patch = await persistently(context, signal, () => handOver(context, work, signal));
    await persistently(context, signal, async () => {
      await deps.dispatcher.sendResult(held, resultOf(context, work, patch), signal);
    });
    await work.diff?.patch.discard();
  } catch (error) {
    await giveUp(context, work, error);
  }
}

function resultOf(
  { timings }: SessionContext,
  { ending, diff, collected, environment }: FinishedWork,
  patch: SessionResult['patch'],
): SessionResult {
  return {
    reason: ending.reason,
    message: cut(ending.message, messageLength).toWellFormed(),
    diff: diff?.summary ?? null,
    patch,
    ...(collected === null ? {} : { collected }),
    ...(environment === undefined ? {} : { environment }),
    timingsMs: timings.all(),
  };
}

/** Small patches travel in the result; larger ones go to the object store first. */
async function handOver(
  { deps, held }: SessionContext,
  { diff }: FinishedWork,
  signal: AbortSignal,
): Promise<SessionResult['patch']> {
  if (diff === null) return null;
  const { patch, summary } = diff;
  if (patch.bytes <= inlinePatchBytes)
    return { kind: 'inline', base64: (await patch.read()).toString('base64') };
  const file = { file: patch.file, sha256: summary.sha256, bytes: patch.bytes };
  const { uploadId } = await uploadFile({ ...deps, held }, file, signal);
  return { kind: 'upload', uploadId };
}

/** Refusals that a repeat cannot change; `conflict` is another result of the same attempt. */
const final: ReadonlySet<string> = new Set([
  'attempt_stale',
  'conflict',
  'request_invalid',
  'payload_too_large',
]);

async function persistently<Value>(
  { deps, held }: SessionContext,
  signal: AbortSignal,
  step: () => Promise<Value>,
): Promise<Value> {
  const backoff = createBackoff(100, 10_000);
  for (;;) {
    try {
      return await step();
    } catch (error) {
      signal.throwIfAborted();
      if (isCodedError(error) && final.has(error.code)) throw error;
      deps.log.warn({ ...held, err: error }, 'the result could not be handed over; trying again');
      await sleep(backoff.next(), signal);
    }
  }
}

/**
 * A stale attempt's work is void. Everything else keeps the patch, and the session ends with the word that its result
 * could not be stored: a session that nobody ends is run again from the start, and ends the same way.
 */
async function giveUp(
  context: SessionContext,
  { diff, ending }: FinishedWork,
  error: unknown,
): Promise<void> {
  const { deps, held, interruption } = context;
  const cause = interruption.abandoned();
  const stale = isCodedError(error, 'attempt_stale') || (cause !== null && cause !== 'lease_lost');
  if (stale) {
    await diff?.patch.discard();
    deps.log.info({ ...held, reason: ending.reason }, 'the result was not wanted any more');
    return;
  }
  const kept = (await diff?.patch.keep()) ?? null;
  deps.log.error(
    { ...held, reason: ending.reason, code: 'result_unsaved', kept, err: error },
    'the result could not be stored; the patch is kept',
  );
  // Two results of one attempt cannot both be its last word: the dispatcher has one already.
  if (cause !== null || isCodedError(error, 'conflict')) return;
  await sayUnsaved(context, ending, kept, error);
}

/** Tells the dispatcher where the patch lies, small enough to be taken whatever was wrong with the whole result. */
async function sayUnsaved(
  context: SessionContext,
  ending: Ending,
  kept: string | null,
  error: unknown,
): Promise<void> {
  const { deps, held, interruption } = context;
  const why = isCodedError(error) ? error.message : 'the agent server met a fault of its own';
  const place = kept === null ? '' : ` The patch is kept on its agent server in ${kept}.`;
  const message = `The result could not be stored: ${cut(why, 2000)}${place}\n${ending.message}`;
  const unsaved: FinishedWork = {
    ending: { reason: 'result_unsaved', message },
    diff: null,
    collected: null,
  };
  const signal = AbortSignal.any([interruption.everything, AbortSignal.timeout(unsavedMs)]);
  try {
    await persistently(context, signal, async () => {
      await deps.dispatcher.sendResult(held, resultOf(context, unsaved, null), signal);
    });
  } catch (failure) {
    deps.log.error({ ...held, err: failure }, 'that the result is unsaved could not be told');
  }
}
