import { buildEnvironment } from '../environments/build-environment.ts';
import { endingOfError } from './ending.ts';
import type { Ending, SessionStage } from './ending.ts';
import { finishSession } from './finish-session.ts';
import type { FinishedWork } from './finish-session.ts';
import { paused } from '../runtimes/runtime.ts';
import { giveBack } from './give-back.ts';
import { sendResult } from './send-result.ts';
import type { SessionContext } from './session-context.ts';
import { startSession } from './start-session.ts';
import type { StartedSession } from './start-session.ts';
import { work } from './work.ts';

/**
 * One attempt from its order to its end: start, work, finish, hand over; whatever happens, sandbox and working copy
 * are gone at the end. Never rejects.
 * @param onSlotFree is called when nothing of the session is left on this machine but its result
 */
export async function runSession(context: SessionContext, onSlotFree: () => void): Promise<void> {
  const { deps, held, unwind, journal, interruption, timings } = context;
  deps.log.info({ ...held, runtime: context.order.runtime, profile: context.order.profile }, 'session taken');
  try {
    const finished = await carryOut(context);
    const freeing = unwind.run().then(onSlotFree);
    // The slot does not wait for the dispatcher, and the dispatcher does not wait for the clean-up.
    if (finished !== null) await sendResult(context, finished);
    await freeing;
    const reason = finished?.ending.reason ?? interruption.abandoned() ?? 'put away';
    deps.log.info({ ...held, reason, timingsMs: timings.all() }, 'session gone');
  } catch (error) {
    deps.log.error({ ...held, err: error }, 'a session ended in a fault of the server');
  } finally {
    await unwind.run();
    onSlotFree();
    await journal.close().catch((error: unknown) => {
      deps.log.error({ ...held, err: error }, 'a journal could not be removed');
    });
  }
}

/** Null when there is no result to tell: the attempt was given up or back, or the session is paused. */
async function carryOut(context: SessionContext): Promise<FinishedWork | null> {
  let stage: SessionStage = 'starting';
  let started: StartedSession | null = null;
  let ending: Ending;
  try {
    started = await startSession(context);
    stage = 'working';
    if (started.build !== null) return await buildEnvironment(context, started.build, started.sandbox);
    const worked = await work(context, started);
    if (worked === paused) return null;
    ending = worked;
  } catch (error) {
    ending = endingOf(context, error, stage);
  }
  if (context.interruption.abandoned() !== null) return null;
  if (started === null) {
    // Days of work may lie in a checkpoint: what ends a session at its beginning only moves a resumed one on.
    const toGiveBack = context.order.resume !== undefined && context.interruption.stopped() === null;
    if (!toGiveBack) return { ending, diff: null, collected: null };
    await giveBack(context, ending);
    return null;
  }
  if (started.build !== null) return { ending, diff: null, collected: null };
  try {
    return await finishSession(context, started, ending);
  } catch (error) {
    if (context.interruption.abandoned() !== null) return null;
    throw error;
  }
}

function endingOf({ interruption, deps, held }: SessionContext, error: unknown, stage: SessionStage): Ending {
  const stopped = interruption.stopped();
  if (stopped !== null) return stopped;
  if (interruption.abandoned() === null) {
    deps.log.warn({ ...held, stage, err: error }, 'the session could not go on');
  }
  return endingOfError(error, stage);
}
