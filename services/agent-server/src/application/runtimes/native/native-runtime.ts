import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { EndReason } from '@lemniscate/shared/session/end.ts';
import { isPause } from '../../checkpoints/pause-wish.ts';
import { asEndReason } from '../../tool-calls/run-tool-call.ts';
import { readRepositoryAdvice } from '../repository-advice.ts';
import { hasLastWords } from '../last-words.ts';
import { paused } from '../runtime.ts';
import type { Runtime, RuntimeContext, RuntimeEnd } from '../runtime.ts';
import { afterMessage } from './after-message.ts';
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
  const { checkpoints } = context;
  for (;;) {
    const wish = checkpoints.wish.signal();
    const signal = AbortSignal.any([context.signal, checkpoints.wish.urgentSignal()]);
    const waiting = AbortSignal.any([signal, wish]);
    try {
      signal.throwIfAborted();
      const end = await step({ ...context, signal, waiting }, talk);
      if (end !== null) return end;
      if (!wish.aborted && talk.underWay === null) await checkpoints.between(() => saveTalk(talk));
    } catch (error) {
      if (!isPause(error)) throw error;
      context.signal.throwIfAborted();
      if ((await checkpoints.pause(saveTalk(talk))) === 'paused') return paused;
    }
  }
}

/** One step: the person's next message, the tools of a turn, or the model's next answer. Null: it goes on. */
async function step(context: StepContext, talk: Talk): Promise<RuntimeEnd | null> {
  if (talk.answered !== null) return awaitMessage(context, talk, talk.answered);
  if (talk.underWay !== null) return runTools(context, talk, talk.underWay);
  talk.turn += 1;
  const view = listenToTurn(context, talk.turn, talk.callIds);
  const request = createRequest(context.order, talk.transcript);
  const message = await askModel(context, request, view.listener).finally(view.finish);
  const end = afterMessage(talk, message, view.calls);
  if (end?.reason !== 'finished' || context.order.followUps !== true) return end;
  talk.answered = end;
  return null;
}

async function runTools(
  context: StepContext,
  talk: Talk,
  underWay: TurnUnderWay,
): Promise<RuntimeEnd | null> {
  const end = await runTurnTools(context, underWay);
  if (end !== null) return end;
  talk.transcript.push(toolAnswers(underWay.answers));
  talk.underWay = null;
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

function cancelUnderWay({ underWay }: Talk): void {
  for (const call of underWay?.calls.values() ?? [])
    call.cancel('The loop ended before this request was looked at.');
}

/** The end by a budget that the gateway named when it refused an exchange. */
function budgetOf(error: unknown): EndReason | null {
  if (!isCodedError(error, 'budget_exhausted')) return null;
  const { budget } = error.details;
  return typeof budget === 'string' ? asEndReason(budget) : null;
}
