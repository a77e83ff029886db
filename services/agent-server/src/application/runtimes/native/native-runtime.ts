import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { EndReason } from '@lemniscate/shared/session/end.ts';
import { asEndReason } from '../../tool-calls/run-tool-call.ts';
import type { Runtime, RuntimeContext, RuntimeEnd } from '../runtime.ts';
import { createCallIds } from './call-ids.ts';
import type { CallIds } from './call-ids.ts';
import type { ModelMessage } from './message-draft.ts';
import { createRequest } from './request.ts';
import type { TranscriptMessage } from './request.ts';
import { assistantMessage, toolAnswers, userText } from './transcript.ts';
import { listenToTurn } from './turn-view.ts';
import { hasLastWords } from '../last-words.ts';
import { summarise } from './summary.ts';
import { askModel } from './model-exchange.ts';
import { runTurnTools } from './turn-tools.ts';

/** Consecutive answers without a tool request that are let go on after they were cut or paused. */
const maxContinuations = 5;

/** Our own loop, outside the sandbox: ask the model, take its requests through permit and execution, answer, repeat. */
export const nativeRuntime: Runtime = {
  run: async (context) => {
    const talk: Talk = {
      transcript: [userText(context.order.instruction)],
      callIds: createCallIds(),
      turn: 0,
      messages: 0,
    };
    const end = await converse(context, talk).catch((error: unknown) => {
      const reason = context.stopped() ?? budgetOf(error);
      if (reason === null || !hasLastWords(context.order, reason)) throw error;
      return { reason, message: isCodedError(error) ? error.message : '' };
    });
    if (!hasLastWords(context.order, end.reason)) return end;
    const summary = await summarise(context, talk.transcript, talk.turn + 1);
    return { ...end, message: `${end.message}\n\n${summary}`.trim() };
  },
};

/** What was said so far. */
interface Talk {
  readonly transcript: TranscriptMessage[];
  readonly callIds: CallIds;
  turn: number;
  /** Messages of the person after the instruction. */
  messages: number;
}

/** Works until the agent has answered, and again for every further message where the session stays for some. */
async function converse(context: RuntimeContext, talk: Talk): Promise<RuntimeEnd> {
  for (;;) {
    const end = await workUntilAnswer(context, talk);
    if (end.reason !== 'finished' || context.order.followUps !== true) return end;
    const told = context.sink.emit({ type: 'phase', phase: 'waiting' });
    // Whoever reads that the session waits for a message has to have the whole answer before.
    await context.sink.acknowledged(told, context.signal);
    const next = await context.messages.next(talk.messages, context.signal);
    if (next.kind === 'end') {
      const reason = asEndReason(next.reason);
      return reason === 'finished' ? end : { reason, message: '' };
    }
    context.sink.emit({ type: 'phase', phase: 'working' });
    talk.messages = next.number;
    talk.transcript.push(userText(next.text));
  }
}

async function workUntilAnswer(context: RuntimeContext, talk: Talk): Promise<RuntimeEnd> {
  const { transcript } = talk;
  let continuations = 0;
  for (;;) {
    talk.turn += 1;
    const view = listenToTurn(context, talk.turn, talk.callIds);
    const request = createRequest(context.order, transcript);
    const message = await askModel(context, request, view.listener).finally(view.finish);
    const next = await afterMessage(context, message, view.calls, transcript);
    if (next.kind === 'end') return next.end;
    continuations = next.kind === 'continued' ? continuations + 1 : 0;
    if (continuations > maxContinuations) {
      return modelFailed(`The model's answer was cut or paused ${continuations} times in a row.`);
    }
  }
}

/** The end by a budget that the gateway named when it refused an exchange. */
function budgetOf(error: unknown): EndReason | null {
  if (!isCodedError(error, 'budget_exhausted')) return null;
  const { budget } = error.details;
  return typeof budget === 'string' ? asEndReason(budget) : null;
}

type Next = { kind: 'end'; end: RuntimeEnd } | { kind: 'continued' } | { kind: 'answered' };
type TurnCalls = ReturnType<typeof listenToTurn>['calls'];

async function afterMessage(
  context: RuntimeContext,
  message: ModelMessage,
  calls: TurnCalls,
  transcript: TranscriptMessage[],
): Promise<Next> {
  const spoken = assistantMessage(message);
  if (spoken !== null) transcript.push(spoken);
  const requests = message.blocks.filter((block) => block.kind === 'tool_use');
  if (requests.length > 0) {
    const outcome = await runTurnTools(context, requests, calls);
    if (outcome.kind === 'end') return { kind: 'end', end: outcome.end };
    transcript.push(toolAnswers(outcome.answers));
    return { kind: 'answered' };
  }
  return withoutTools(message, spoken !== null, transcript);
}

/** What a message without tool requests means, by its stop reason. */
function withoutTools(message: ModelMessage, spoke: boolean, transcript: TranscriptMessage[]): Next {
  const words = closingWords(message);
  switch (message.stopReason) {
    case 'end_turn':
    case 'stop_sequence':
      return { kind: 'end', end: { reason: 'finished', message: words } };
    case 'pause_turn':
      // The wire asks to send the paused message back as it is.
      if (spoke) return { kind: 'continued' };
      return { kind: 'end', end: modelFailed('The model paused without saying anything.') };
    case 'max_tokens':
      if (!spoke)
        return {
          kind: 'end',
          end: modelFailed('The model reached its output limit without saying anything.'),
        };
      transcript.push(userText('Your answer was cut at its output limit. Go on from where it ended.'));
      return { kind: 'continued' };
    case 'refusal':
      return { kind: 'end', end: modelFailed(`The model refused to go on. ${words}`) };
    case 'model_context_window_exceeded':
      return { kind: 'end', end: modelFailed('The session has outgrown what the model can read at once.') };
    default:
      return {
        kind: 'end',
        end: modelFailed(`The model stopped for an unknown reason: ${message.stopReason}.`),
      };
  }
}

function closingWords(message: ModelMessage): string {
  return message.blocks
    .flatMap((block) => (block.kind === 'text' ? [block.text] : []))
    .join('')
    .trim();
}

const modelFailed = (message: string): RuntimeEnd => ({ reason: 'model_failed', message: message.trim() });
