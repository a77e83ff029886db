import type { JsonObject } from '@lemniscate/shared/json.ts';
import { jsonObjectSchema } from '@lemniscate/shared/json.ts';
import type { MessageBlock, ModelMessage, ToolUse } from './message-draft.ts';
import type { TranscriptMessage } from './request.ts';

/** A tool request's answer to the model. */
export interface ToolAnswer {
  readonly id: string;
  readonly isError: boolean;
  readonly text: string;
}

/** A sentence from the person or from the loop itself. */
export function userText(text: string): TranscriptMessage {
  return { role: 'user', content: [{ type: 'text', text }] };
}

/** The model's own message as it goes back; null when nothing of it may be sent back (the wire refuses empty content). */
export function assistantMessage(message: ModelMessage): TranscriptMessage | null {
  const content = message.blocks.flatMap(toContent);
  return content.length === 0 ? null : { role: 'assistant', content };
}

/** The answers in the order in which the model asked. */
export function toolAnswers(answers: readonly ToolAnswer[]): TranscriptMessage {
  return {
    role: 'user',
    content: answers.map((answer) => ({
      type: 'tool_result',
      tool_use_id: answer.id,
      // The wire refuses an empty text block.
      content: [{ type: 'text', text: answer.text === '' ? '(no output)' : answer.text.toWellFormed() }],
      ...(answer.isError ? { is_error: true } : {}),
    })),
  };
}

function toContent(block: MessageBlock): JsonObject[] {
  if (block.kind === 'text') return block.text.trim() === '' ? [] : [{ type: 'text', text: block.text }];
  if (block.kind === 'opaque') return [block.block];
  return [{ type: 'tool_use', id: block.id, name: block.name, input: inputOf(block) }];
}

/**
 * What the transcript says that the model asked. The wire wants an object: arguments that are none become an empty one
 * here, beside an answer that says that nothing was run. Nothing is ever executed from this.
 */
function inputOf(block: ToolUse): JsonObject {
  try {
    const parsed = jsonObjectSchema.safeParse(JSON.parse(block.argumentsText));
    return parsed.success ? parsed.data : {};
  } catch {
    // Not JSON; see above.
    return {};
  }
}
