import { z } from 'zod';

/** The events of a streamed Anthropic message that the loop understands; unknown ones are skipped, as the wire's rules ask. */
export const messageEventSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('message_start') }),
  z.object({
    type: z.literal('content_block_start'),
    index: z.int().min(0),
    content_block: z.looseObject({ type: z.string() }),
  }),
  z.object({
    type: z.literal('content_block_delta'),
    index: z.int().min(0),
    delta: z.discriminatedUnion('type', [
      z.object({ type: z.literal('text_delta'), text: z.string() }),
      z.object({ type: z.literal('input_json_delta'), partial_json: z.string() }),
      z.object({ type: z.literal('thinking_delta'), thinking: z.string() }),
      z.object({ type: z.literal('signature_delta'), signature: z.string() }),
    ]),
  }),
  z.object({ type: z.literal('content_block_stop'), index: z.int().min(0) }),
  z.object({ type: z.literal('message_delta'), delta: z.object({ stop_reason: z.string().nullish() }) }),
  z.object({ type: z.literal('message_stop') }),
  z.object({ type: z.literal('error'), error: z.object({ type: z.string(), message: z.string() }) }),
]);
export type MessageEvent = z.infer<typeof messageEventSchema>;

const eventTypes: ReadonlySet<string> = new Set(
  messageEventSchema.options.map((option) => option.shape.type.value),
);
const deltaTypes: ReadonlySet<string> = new Set([
  'text_delta',
  'input_json_delta',
  'thinking_delta',
  'signature_delta',
]);
const head = z.looseObject({
  type: z.string(),
  delta: z.looseObject({ type: z.string().optional() }).optional(),
});

/** One event of the stream; null for a kind that is to be skipped. @throws z.ZodError or SyntaxError for a broken one */
export function parseMessageEvent(data: string): MessageEvent | null {
  const value: unknown = JSON.parse(data);
  const { type, delta } = head.parse(value);
  if (!eventTypes.has(type)) return null;
  if (type === 'content_block_delta' && delta?.type !== undefined && !deltaTypes.has(delta.type)) return null;
  return messageEventSchema.parse(value);
}
