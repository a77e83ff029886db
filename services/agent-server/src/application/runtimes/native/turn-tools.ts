import { runToolCall } from '../../tool-calls/run-tool-call.ts';
import type { ToolCallOutcome } from '../../tool-calls/run-tool-call.ts';
import type { ToolCall } from '../../tool-calls/tool-call.ts';
import type { RuntimeContext, RuntimeEnd } from '../runtime.ts';
import type { ToolUse } from './message-draft.ts';
import type { ToolAnswer } from './transcript.ts';

export type TurnOutcome =
  | { readonly kind: 'answers'; readonly answers: readonly ToolAnswer[] }
  | { readonly kind: 'end'; readonly end: RuntimeEnd };

const unfinished =
  'The answer was cut at its output limit inside this request, so nothing was run. Ask again in smaller parts.';

/**
 * Takes the requests of one turn through permit and execution, one after the other in the order asked: a later one
 * often builds on an earlier one. Returns when none is in an intermediate state.
 */
export async function runTurnTools(
  context: RuntimeContext,
  requests: readonly ToolUse[],
  calls: ReadonlyMap<string, ToolCall>,
): Promise<TurnOutcome> {
  const answers: ToolAnswer[] = [];
  try {
    for (const request of requests) {
      const call = calls.get(request.id);
      if (call === undefined) throw new Error(`tool request ${request.id} was never announced`);
      const outcome = await runRequest(context, call, request);
      if (outcome.kind === 'end')
        return { kind: 'end', end: { reason: outcome.reason, message: outcome.message } };
      answers.push({ id: request.id, isError: outcome.isError, text: outcome.text });
    }
    return { kind: 'answers', answers };
  } finally {
    for (const call of calls.values()) call.cancel('The loop ended before this request was looked at.');
  }
}

async function runRequest(
  context: RuntimeContext,
  call: ToolCall,
  request: ToolUse,
): Promise<ToolCallOutcome> {
  if (!request.whole) {
    call.become('errored', { message: unfinished });
    return { kind: 'resume', isError: true, text: unfinished };
  }
  const { order } = context;
  const deps = {
    ...context,
    commandMaxSeconds: order.commandMaxSeconds,
    commandMaxOutputBytes: order.commandMaxOutputBytes,
  };
  return runToolCall(deps, call, request.argumentsText, context.signal);
}
