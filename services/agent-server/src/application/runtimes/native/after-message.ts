import type { ToolCall } from '../../tool-calls/tool-call.ts';
import type { RuntimeEnd } from '../runtime.ts';
import type { ModelMessage } from './message-draft.ts';
import type { Talk } from './talk.ts';
import { assistantMessage, userText } from './transcript.ts';

/** Consecutive answers without a tool request that are let go on after they were cut or paused. */
const maxContinuations = 5;

/**
 * Takes the model's answer into the talk: its requests are under way, or it goes on, or the loop is over.
 * @returns the end; null when it goes on
 */
export function afterMessage(
  talk: Talk,
  message: ModelMessage,
  calls: ReadonlyMap<string, ToolCall>,
): RuntimeEnd | null {
  const spoken = assistantMessage(message);
  if (spoken !== null) talk.transcript.push(spoken);
  const requests = message.blocks.filter((block) => block.kind === 'tool_use');
  if (requests.length > 0) {
    talk.underWay = { requests, answers: [], calls };
    talk.continuations = 0;
    return null;
  }
  const end = withoutTools(message, spoken !== null, talk);
  if (end !== null) {
    talk.continuations = 0;
    return end;
  }
  talk.continuations += 1;
  if (talk.continuations <= maxContinuations) return null;
  return modelFailed(`The model's answer was cut or paused ${talk.continuations} times in a row.`);
}

/** What a message without tool requests means, by its stop reason. */
function withoutTools(message: ModelMessage, spoke: boolean, { transcript }: Talk): RuntimeEnd | null {
  const words = closingWords(message);
  switch (message.stopReason) {
    case 'end_turn':
    case 'stop_sequence':
      return { reason: 'finished', message: words };
    case 'pause_turn':
      // The wire asks to send the paused message back as it is.
      return spoke ? null : modelFailed('The model paused without saying anything.');
    case 'max_tokens':
      if (!spoke) return modelFailed('The model reached its output limit without saying anything.');
      transcript.push(userText('Your answer was cut at its output limit. Go on from where it ended.'));
      return null;
    case 'refusal':
      return modelFailed(`The model refused to go on. ${words}`);
    case 'model_context_window_exceeded':
      return modelFailed('The session has outgrown what the model can read at once.');
    default:
      return modelFailed(`The model stopped for an unknown reason: ${message.stopReason}.`);
  }
}

function closingWords(message: ModelMessage): string {
  return message.blocks
    .flatMap((block) => (block.kind === 'text' ? [block.text] : []))
    .join('')
    .trim();
}

const modelFailed = (message: string): RuntimeEnd => ({ reason: 'model_failed', message: message.trim() });
