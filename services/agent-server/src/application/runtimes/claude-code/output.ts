import { z } from 'zod';
import { jsonObjectSchema } from '@lemniscate/shared/json.ts';

const toolUse = z.object({
  type: z.literal('tool_use'),
  id: z.string().min(1).max(200),
  name: z.string().max(200),
  input: jsonObjectSchema,
});
const textBlock = z.object({ type: z.literal('text'), text: z.string() });
const toolResult = z.object({
  type: z.literal('tool_result'),
  tool_use_id: z.string(),
  is_error: z.boolean().nullish(),
  content: z.unknown(),
});
const block = z.union([toolUse, textBlock, toolResult, z.looseObject({ type: z.string() })]);
const own = { parent_tool_use_id: z.string().nullish() };

const count = z.int().min(0).max(1_000_000_000_000).catch(0);
/** Tokens of one answer as it streams: the last word of each counts. */
const streamedUsage = z.looseObject({
  input_tokens: count.optional(),
  output_tokens: count.optional(),
  cache_read_input_tokens: count.optional(),
  cache_creation_input_tokens: count.optional(),
});
export type StreamedUsage = z.infer<typeof streamedUsage>;

const streamEvent = z.union([
  z.object({
    type: z.literal('message_start'),
    message: z.looseObject({ id: z.string(), usage: streamedUsage.optional() }),
  }),
  z.object({ type: z.literal('message_delta'), usage: streamedUsage.optional() }),
  z.object({
    type: z.literal('content_block_start'),
    content_block: z.looseObject({
      type: z.string(),
      id: z.string().max(200).optional(),
      name: z.string().max(200).optional(),
    }),
  }),
  z.object({
    type: z.literal('content_block_delta'),
    delta: z.looseObject({ type: z.string(), text: z.string().optional() }),
  }),
  z.looseObject({ type: z.string() }),
]);

/** Tokens as the program counts them, since its start and for each model. */
const modelUsage = z.record(
  z.string(),
  z.looseObject({
    inputTokens: count,
    outputTokens: count,
    cacheReadInputTokens: count,
    cacheCreationInputTokens: count,
  }),
);

/**
 * What Claude Code says with `--output-format stream-json`, as far as we act on it. All of it is a claim of the
 * sandbox: parsed, bounded, and never believed where the gateway knows better.
 */
export const outputSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('stream_event'), event: streamEvent, ...own }),
  z.object({
    type: z.literal('assistant'),
    message: z.object({ id: z.string().catch(''), content: z.array(block) }),
    ...own,
  }),
  z.object({
    type: z.literal('user'),
    message: z.object({ content: z.union([z.string(), z.array(block)]) }),
    ...own,
  }),
  z.object({
    type: z.literal('control_request'),
    request_id: z.string(),
    request: z.looseObject({
      subtype: z.string(),
      tool_name: z.string().max(200).optional(),
      tool_use_id: z.string().max(200).optional(),
      callback_id: z.string().optional(),
      input: z.unknown(),
    }),
  }),
  z.object({
    type: z.literal('result'),
    subtype: z.string(),
    is_error: z.boolean(),
    result: z.string().optional(),
    stop_reason: z.string().nullish(),
    errors: z.array(z.string()).optional(),
    total_cost_usd: z.number().min(0).max(1_000_000_000).optional(),
    modelUsage: modelUsage.optional(),
  }),
  z.looseObject({
    type: z.literal('system'),
    subtype: z.string(),
    tools: z.array(z.string()).optional(),
  }),
]);
export type Output = z.infer<typeof outputSchema>;
export type OutputOf<Type extends Output['type']> = Extract<Output, { type: Type }>;
export type ToolUseBlock = z.infer<typeof toolUse>;

export const isToolUse = (value: { readonly type: string }): value is ToolUseBlock =>
  toolUse.safeParse(value).success;
export const isText = (value: { readonly type: string }): value is z.infer<typeof textBlock> =>
  value.type === 'text';
export const isToolResult = (value: { readonly type: string }): value is z.infer<typeof toolResult> =>
  value.type === 'tool_result';

/** The text of a tool's result, whatever form it has. */
export function resultText(content: unknown): string {
  if (typeof content === 'string') return content;
  const blocks = z.array(z.looseObject({ type: z.string() })).safeParse(content);
  if (!blocks.success) return '';
  return blocks.data.flatMap((part) => (isText(part) ? [part.text] : [`(${part.type})`])).join('\n');
}
