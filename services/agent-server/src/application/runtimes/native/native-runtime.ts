import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { EndReason } from '@lemniscate/shared/session/end.ts';
import { isPause } from '../../checkpoints/pause-wish.ts';
import { asEndReason } from '../../tool-calls/run-tool-call.ts';
import { readRepositoryAdvice } from '../repository-advice.ts';
import { hasLastWords } from '../last-words.ts';
import { paused } from '../runtime.ts';
import { stays, stopsOnlyLoop } from '../stays.ts';
import { isInterrupt } from '../turn-interrupt.ts';
import type { Runtime, RuntimeContext, RuntimeEnd } from '../runtime.ts';
import { afterMessage } from './after-message.ts';
import { compact, isTooLong, wasTooLong } from './compaction.ts';
import type { StepContext } from './step-context.ts';
import { askModel } from './model-exchange.ts';
import { createRequest } from './request.ts';
import { summarise } from './summary.ts';
import { beginTalk, restoreTalk, saveTalk } from './talk.ts';
import type { Talk, TurnUnderWay } from './talk.ts';
import { toolAnswers, userText } from './transcript.ts';
import { runTurnTools } from './turn-tools.ts';
import { listenToTurn } from './turn-view.ts';

/** Our own loop, outside the sandbox: ask the model, take its requests through permit and execution, answer, repeat. */
export const nativeRuntime: Runtime = {
  run: async (context) => {
    const { order, sink, checkpoints } = context;
    const talk =
      checkpoints.resumed === null
        ? beginTalk(order.instruction, await readRepositoryAdvice(context))
        : restoreTalk(checkpoints.resumed, sink);
    const end = await converse(context, talk).catch((error: unknown) => {
      cancelUnderWay(talk);
      const reason = context.stopped() ?? budgetOf(error);
      if (reason === null || !hasLastWords(order, reason)) throw error;
      return { reason, message: isCodedError(error) ? error.message : '' };
    });
    if (end === paused) return paused;
    cancelUnderWay(talk);
    if (!hasLastWords(order, end.reason)) return end;
    const summary = await summarise(context, talk.transcript, talk.turn + 1);
    return { ...end, message: `${end.message}\n\n${summary}`.trim() };
  },
};

/** Step by step until the end. Between two steps the whole of the session is in its talk, so it can be put away there. */
async function converse(context: RuntimeContext, talk: Talk): Promise<RuntimeEnd | typeof paused> {
  const { checkpoints, interrupt } = context;
  for (;;) {
    const wish = checkpoints.wish.signal();
    const signal = AbortSignal.any([context.signal, checkpoints.wish.urgentSignal(), interrupt.signal()]);
    const waiting = AbortSignal.any([signal, wish]);
    try {
      signal.throwIfAborted();
      const end = await step({ ...context, signal, waiting }, talk);
      if (end !== null) return end;
      if (!wish.aborted && talk.underWay === null) await checkpoints.between(() => saveTalk(talk));
    } catch (error) {
      if (!isPause(error) && !isInterrupt(error)) throw error;
      context.signal.throwIfAborted();
      if (isInterrupt(error)) {
        talk.interrupted = true;
        endTurn(talk, () => interruptedText);
        interrupt.take();
        continue;
      }
      if ((await checkpoints.pause(saveTalk(talk))) === 'paused') return paused;
    }
  }
}

/** One step: the person's next message, the tools of a turn, or the model's next answer. Null: it goes on. */
async function step(context: StepContext, talk: Talk): Promise<RuntimeEnd | null> {
  if (talk.answered !== null) return awaitMessage(context, talk, talk.answered);
  if (talk.underWay !== null) return runTools(context, talk, talk.underWay);
  talk.turn += 1;
  let request = createRequest(context.order, talk.transcript);
  if (isTooLong(request, context.order)) request = await shorten(context, talk);
  const view = listenToTurn(context, talk.turn, talk.callIds);
  const message = await askModel(context, request, view.listener)
    .catch(async (error: unknown) => {
      if (!wasTooLong(error)) throw error;
      return askModel(context, await shorten(context, talk, error), view.listener);
    })
    .finally(view.finish);
  const end = afterMessage(talk, message, view.calls);
  if (end?.reason !== 'finished' || !stays(context.order, talk)) return end;
  talk.answered = end;
  return null;
}

async function runTools(
  context: StepContext,
  talk: Talk,
  underWay: TurnUnderWay,
): Promise<RuntimeEnd | null> {
  const end = await runTurnTools(context, underWay);
  if (end === null) {
    talk.transcript.push(toolAnswers(underWay.answers));
    talk.underWay = null;
    return null;
  }
  if (!stopsOnlyLoop(context.order, talk, end)) return end;
  endTurn(talk, (first) => (first ? end.message : notAfterRejection));
  return null;
}

/** A session that stays waits for its person; the last answer is its end when nothing more comes. */
async function awaitMessage(
  context: StepContext,
  talk: Talk,
  answered: RuntimeEnd,
): Promise<RuntimeEnd | null> {
  const told = context.sink.emit({ type: 'phase', phase: 'waiting' });
  // Whoever reads that the session waits for a message has to have the whole answer before.
  await context.sink.acknowledged(told, context.waiting);
  const next = await context.messages.next(talk.messages, context.waiting);
  if (next.kind === 'end') {
    const reason = asEndReason(next.reason);
    return reason === 'finished' ? answered : { reason, message: '' };
  }
  context.sink.emit({ type: 'phase', phase: 'working' });
  talk.messages = next.number;
  talk.transcript.push(userText(next.text));
  talk.answered = null;
  return null;
}

/**
 * A person has stopped the loop: what was asked for and has not ended is canceled, nobody's rejection, and the model will
 * read why. The session then waits for what its person says.
 * @param textOf what the model reads of the first request that has not ended, and of the others
 */
function endTurn(talk: Talk, textOf: (first: boolean) => string): void {
  const { underWay } = talk;
  talk.answered ??= { reason: 'finished', message: '' };
  if (underWay === null) return;
  cancelUnderWay(talk);
  const left = underWay.requests.slice(underWay.answers.length);
  const answers = left.map(({ id }, index) => ({ id, isError: true, text: textOf(index === 0) }));
  talk.transcript.push(toolAnswers([...underWay.answers, ...answers]));
  talk.underWay = null;
}

const interruptedText = 'The person interrupted before this had ended. What it had begun may be half done.';
const notAfterRejection = 'Not run: the person rejected a request before it, and says next what to do.';

function cancelUnderWay({ underWay }: Talk): void {
  for (const call of underWay?.calls.values() ?? [])
    call.cancel('The loop ended before this request was looked at.');
}

/**
 * Cuts the conversation short, in the middle of the loop.
 * @returns the next request
 * @throws the provider's refusal, where nothing can be dropped any more
 */
async function shorten(context: StepContext, talk: Talk, refusal?: unknown): Promise<string> {
  const before = talk.transcript.length;
  const short = await compact(context, talk.transcript, talk.turn);
  if (refusal !== undefined && short.length >= before) throw refusal;
  talk.transcript.splice(0, before, ...short);
  return createRequest(context.order, talk.transcript);
}

/** The end by a budget that the gateway named when it refused an exchange. */
function budgetOf(error: unknown): EndReason | null {
  if (!isCodedError(error, 'budget_exhausted')) return null;
  const { budget } = error.details;
  return typeof budget === 'string' ? asEndReason(budget) : null;
}
