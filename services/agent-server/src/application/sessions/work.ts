import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { settledWithin } from '../abortable.ts';
import { createCheckpointDesk } from '../checkpoints/checkpoint-desk.ts';
import { paused } from '../runtimes/runtime.ts';
import type { RuntimeEnd } from '../runtimes/runtime.ts';
import { createMessageDesk } from '../message-desk.ts';
import { hasLastWords, lastWordsMs } from '../runtimes/last-words.ts';
import { createPermitDesk } from '../tool-calls/permit-desk.ts';
import { endingOfError, endingOfSandbox } from './ending.ts';
import type { Ending } from './ending.ts';
import type { SessionContext } from './session-context.ts';
import type { StartedSession } from './start-session.ts';

/** A runtime that does not settle after its signal is left behind; its sandbox is destroyed under it. */
const settleMs = 5000;
const causeMs = 2000;

/**
 * Step 5 of a session (docs/ARCHITECTURE.md): the runtime drives the loop until it ends, is interrupted, is paused, or
 * loses its sandbox.
 */
export async function work(
  context: SessionContext,
  { sandbox, workingCopy, resumed }: StartedSession,
): Promise<Ending | typeof paused> {
  const { deps, order, journal, lease, held, interruption, timings } = context;
  const runtime = deps.runtimes[order.runtime];
  if (runtime === undefined) throw unknownRuntime(order.runtime);
  const lost = new AbortController();
  let lostTo: Ending | null = null;
  void sandbox.ended.then((cause) => {
    lostTo = endingOfSandbox(cause);
    lost.abort(new CodedError('sandbox_lost', lostTo.message));
  });
  const signal = AbortSignal.any([interruption.work, lost.signal]);
  const { dispatcher, clock, log } = deps;
  const permits = createPermitDesk({ held, dispatcher, lease, log });
  const running = timings.measure('running', () =>
    runtime.run({
      order,
      sandbox,
      workingCopy,
      sink: journal,
      permits,
      lease,
      dispatcher,
      clock,
      programQuietMs: deps.programQuietMs,
      log,
      signal,
      closing: AbortSignal.any([interruption.everything, lost.signal]),
      stopped: () => interruption.stopped()?.reason ?? null,
      messages: createMessageDesk({ held, dispatcher, lease, log }),
      interrupt: context.interrupt,
      checkpoints: createCheckpointDesk({ ...deps, ...context, sandbox, workingCopy, resumed, signal }),
    }),
  );
  try {
    return await settledOrAborted(running, signal, context);
  } catch (error) {
    if (interruption.work.aborted) throw error;
    deps.log.warn({ ...held, err: error }, 'the runtime failed');
    // A tool can notice the loss before the sandbox has said what it was lost to.
    if (isCodedError(error, 'sandbox_lost')) await settledWithin(sandbox.ended, causeMs);
    return lostTo ?? endingOfError(error, 'working');
  }
}

async function settledOrAborted(
  running: Promise<RuntimeEnd | typeof paused>,
  signal: AbortSignal,
  { order, interruption }: Pick<SessionContext, 'order' | 'interruption'>,
): Promise<RuntimeEnd | typeof paused> {
  const aborted = Promise.withResolvers<void>();
  const onAbort = () => aborted.resolve();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.race([running.catch(() => undefined), aborted.promise]);
    if (!signal.aborted) return await running;
    // Whatever the runtime says after an interruption, the interruption is why the session ends; but a session that
    // ran out of a budget may still say how far it came.
    const reason = interruption.stopped()?.reason ?? null;
    const speaks = reason !== null && hasLastWords(order, reason);
    const settled = await settledWithin(running, speaks ? lastWordsMs + settleMs : settleMs);
    const said = settled && speaks ? await running.catch(() => null) : null;
    if (said === paused) return said;
    if (said !== null && said.reason === reason && !interruption.everything.aborted) return said;
    signal.throwIfAborted();
    return await running;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function unknownRuntime(name: string): CodedError {
  return new CodedError('runtime_unknown', `This agent server has no runtime ${JSON.stringify(name)}.`);
}
