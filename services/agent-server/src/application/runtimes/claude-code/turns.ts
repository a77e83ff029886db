import { createTextStream } from '../../text-stream.ts';
import type { ReportedCalls } from '../cli/reported-calls.ts';
import type { CliTalk } from '../cli/talk.ts';
import type { RuntimeContext } from '../runtime.ts';
import { isText, isToolResult, isToolUse, resultText } from './output.ts';
import type { OutputOf } from './output.ts';
import { ourNameOf } from './own-tools.ts';

/** What a person sees of Claude Code's turns. */
export interface ClaudeTurns {
  readonly turn: () => number;
  onStream(message: OutputOf<'stream_event'>): Promise<void>;
  onAssistant(message: OutputOf<'assistant'>): Promise<void>;
  onUser(message: OutputOf<'user'>): Promise<void>;
  flush(): void;
}

/** @param calls its own tools; null where those are off and ours report themselves */
export function createClaudeTurns(
  context: RuntimeContext,
  talk: CliTalk,
  calls: ReportedCalls | null,
): ClaudeTurns {
  const { sink, signal } = context;
  /** Messages that came in pieces: when they come again as a whole, their text is known. */
  const streamed = new Set<string>();
  const text = createTextStream(sink, (piece) =>
    sink.emit({ type: 'text', turn: Math.max(talk.turn, 1), text: piece }),
  );
  const begin = (id: string): void => {
    if (streamed.has(id)) return;
    text.flush();
    streamed.add(id);
    talk.turn += 1;
    sink.emit({ type: 'turn', turn: talk.turn });
  };
  const beginCall = (id: string, name: string): void => {
    text.flush();
    calls?.begin(id, Math.max(talk.turn, 1), ourNameOf(name) ?? name);
  };

  return {
    turn: () => Math.max(talk.turn, 1),
    onStream: async ({ event, parent_tool_use_id }) => {
      if (parent_tool_use_id != null) return;
      if (event.type === 'message_start' && 'message' in event) begin((event.message as { id: string }).id);
      if (event.type === 'content_block_start' && 'content_block' in event) {
        const { type, id, name } = event.content_block as { type: string; id?: string; name?: string };
        if (type === 'tool_use' && id !== undefined) beginCall(id, name ?? '');
      }
      if (event.type === 'content_block_delta' && 'delta' in event) {
        const { type, text: piece } = event.delta as { type: string; text?: string };
        if (type === 'text_delta') await text.write(piece ?? '', signal);
      }
    },
    onAssistant: async ({ message, parent_tool_use_id }) => {
      if (parent_tool_use_id != null) return;
      const known = streamed.has(message.id);
      begin(message.id);
      for (const block of message.content) {
        if (isText(block) && !known) await text.write(block.text, signal);
        if (isToolUse(block)) beginCall(block.id, block.name);
      }
    },
    onUser: async ({ message }) => {
      if (calls === null || typeof message.content === 'string') return;
      for (const block of message.content) {
        if (!isToolResult(block)) continue;
        const isError = block.is_error === true;
        const asked = await calls.finish(block.tool_use_id, { isError, text: resultText(block.content) });
        if (!asked)
          sink.emit({
            type: 'notice',
            text: `Claude Code ran the call ${block.tool_use_id.slice(0, 100)} without asking for it.`,
          });
      }
    },
    flush: text.flush,
  };
}
