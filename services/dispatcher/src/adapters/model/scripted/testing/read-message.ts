import { createParser } from 'eventsource-parser';
import { z } from 'zod';
import type { ModelResponse } from '../../../../application/ports/model-provider.ts';

const blockSchema = z.looseObject({ type: z.string() });
const messageSchema = z.looseObject({
  id: z.string(),
  model: z.string(),
  content: z.array(blockSchema),
  stop_reason: z.string().nullable(),
  usage: z.record(z.string(), z.unknown()),
});
export type Message = z.infer<typeof messageSchema>;

/** Collects a body as text. */
export async function readText(response: ModelResponse): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body) text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}

interface Draft {
  message: Record<string, unknown>;
  readonly blocks: Record<string, unknown>[];
  readonly json: string[];
}

function apply(draft: Draft, event: Record<string, unknown>): void {
  const index = Number(event['index']);
  const delta = (event['delta'] ?? {}) as Record<string, unknown>;
  if (event['type'] === 'message_start') draft.message = event['message'] as Record<string, unknown>;
  if (event['type'] === 'content_block_start') {
    draft.blocks[index] = { ...(event['content_block'] as Record<string, unknown>) };
    draft.json[index] = '';
  }
  if (event['type'] === 'content_block_delta') {
    const block = draft.blocks[index] ?? {};
    if (delta['type'] === 'text_delta') block['text'] = String(block['text']) + String(delta['text']);
    else draft.json[index] += String(delta['partial_json']);
  }
  if (event['type'] === 'content_block_stop' && draft.blocks[index]?.['type'] === 'tool_use') {
    draft.blocks[index]['input'] = JSON.parse(draft.json[index] ?? '{}');
  }
  if (event['type'] === 'message_delta') {
    const usage = { ...(draft.message['usage'] as object), ...(event['usage'] as object) };
    draft.message = { ...draft.message, ...delta, usage };
  }
}

/** Puts a streamed answer together as a client does. */
export function assembleStream(text: string): { readonly message: Message; readonly events: string[] } {
  const draft: Draft = { message: {}, blocks: [], json: [] };
  const events: string[] = [];
  const parser = createParser({
    onEvent: ({ event, data }) => {
      events.push(event ?? '');
      apply(draft, JSON.parse(data) as Record<string, unknown>);
    },
  });
  parser.feed(text);
  return { message: messageSchema.parse({ ...draft.message, content: draft.blocks }), events };
}

/** Reads a non-streaming answer. */
export function readMessage(text: string): Message {
  return messageSchema.parse(JSON.parse(text));
}
