import { runToolCall } from '../../tool-calls/run-tool-call.ts';
import type { ToolCallOutcome } from '../../tool-calls/run-tool-call.ts';
import type { ToolCall } from '../../tool-calls/tool-call.ts';
import type { RuntimeEnd } from '../runtime.ts';
import type { ToolUse } from './message-draft.ts';
import type { StepContext } from './step-context.ts';
import type { TurnUnderWay } from './talk.ts';

const unfinished =
  'The answer was cut at its output limit inside this request, so nothing was run. Ask again in smaller parts.';

/**
 * Takes the requests of one turn that have no answer yet through permit and execution, one after the other in the order
 * asked: a later one often builds on an earlier one.
 * @returns the end; null when all have their answers
 */
export async function runTurnTools(context: StepContext, underWay: TurnUnderWay): Promise<RuntimeEnd | null> {
  for (const request of underWay.requests.slice(underWay.answers.length)) {
    const call = underWay.calls.get(request.id);
    if (call === undefined) throw new Error(`tool request ${request.id} was never announced`);
    const outcome = await runRequest(context, call, request);
    if (outcome.kind === 'end') return { reason: outcome.reason, message: outcome.message };
    underWay.answers.push({ id: request.id, isError: outcome.isError, text: outcome.text });
  }
  return null;
}

async function runRequest(context: StepContext, call: ToolCall, request: ToolUse): Promise<ToolCallOutcome> {
  if (!request.whole) {
    call.become('errored', { message: unfinished });
    return { kind: 'resume', isError: true, text: unfinished };
  }
  const { order } = context;
  const deps = {
    ...context,
    commandMaxSeconds: order.commandMaxSeconds,
    commandMaxOutputBytes: order.commandMaxOutputBytes,
    remoteTools: order.remoteTools ?? [],
  };
  return runToolCall(deps, call, request.argumentsText, context.signal);
}
