import type { JsonObject } from '@lemniscate/shared/json.ts';
import { createTextStream } from '../../text-stream.ts';
import { lastWordsMs } from '../last-words.ts';
import type { RuntimeContext } from '../runtime.ts';
import { askModel } from './model-exchange.ts';
import { createRequest } from './request.ts';
import type { TranscriptMessage } from './request.ts';

/** What the gateway keeps room for, when a session has used up its tokens or money. */
const summaryTokens = 2_048;
const notAnswered = 'Not run: the session’s budget is used up.';
const instruction =
  'The session’s budget is used up and it stops here; no tool can be used any more. Say in a few sentences what you have done, what is left to do and what the person should look at.';

/**
 * The last exchange of a session whose budget is used up, without tools. It needs no permit and runs nothing; if it
 * fails or takes too long the session ends without it.
 * @returns what to add to the end's message; empty where nothing was said
 */
export async function summarise(
  context: RuntimeContext,
  transcript: readonly TranscriptMessage[],
  turn: number,
): Promise<string> {
  const signal = AbortSignal.any([context.closing, AbortSignal.timeout(lastWordsMs)]);
  const text = createTextStream(context.sink, (piece) =>
    context.sink.emit({ type: 'text', turn, text: piece }),
  );
  context.sink.emit({ type: 'turn', turn });
  const request = createRequest(context.order, [...transcript, lastWord(transcript)], {
    toolsBarred: true,
    maxTokens: summaryTokens,
  });
  try {
    const message = await askModel({ ...context, signal, waiting: signal }, request, {
      onChange: async (change) => {
        if (change.kind === 'text') await text.write(change.text, signal);
      },
      onVoid: () => text.flush(),
    });
    const said = message.blocks.flatMap((block) => (block.kind === 'text' ? [block.text] : []));
    return said.join('').trim();
  } catch (error) {
    context.closing.throwIfAborted();
    context.log.warn(
      { sessionId: context.order.sessionId, err: error },
      'a session ends without its summary',
    );
    return '';
  } finally {
    text.flush();
  }
}

/** The wire wants an answer to every request for a tool: those that the end cut off get one that says so. */
function lastWord(transcript: readonly TranscriptMessage[]): TranscriptMessage {
  const last = transcript.at(-1);
  const open = last?.role === 'assistant' ? last.content.filter((block) => block['type'] === 'tool_use') : [];
  const answers = open.map((block): JsonObject => ({
    type: 'tool_result',
    tool_use_id: block['id'] ?? '',
    content: [{ type: 'text', text: notAnswered }],
    is_error: true,
  }));
  return { role: 'user', content: [...answers, { type: 'text', text: instruction }] };
}
