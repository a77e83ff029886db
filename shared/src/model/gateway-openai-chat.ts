import { z } from 'zod';
import { checkAgainst, fetchesNothing } from './gateway-check.ts';
import type { GatewayExceptions, RequestCheck } from './gateway-check.ts';

const breakpoint = z.strictObject({ mode: z.string() }).optional();
const text = z.strictObject({
  type: z.literal('text'),
  text: z.string(),
  prompt_cache_breakpoint: breakpoint,
});
const refusal = z.strictObject({ type: z.literal('refusal'), refusal: z.string() });
const image = z.strictObject({
  type: z.literal('image_url'),
  image_url: z.strictObject({
    url: z.string().regex(/^data:/, fetchesNothing),
    detail: z.string().optional(),
  }),
  prompt_cache_breakpoint: breakpoint,
});
const texts = z.union([z.string(), z.array(text)]);
const name = z.string().optional();

const toolCall = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('function'),
    id: z.string(),
    function: z.strictObject({ name: z.string(), arguments: z.string() }),
  }),
  z.strictObject({
    type: z.literal('custom'),
    id: z.string(),
    custom: z.strictObject({ name: z.string(), input: z.string() }),
  }),
]);
const message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('system'), content: texts, name }),
  z.strictObject({ role: z.literal('developer'), content: texts, name }),
  z.strictObject({
    role: z.literal('user'),
    content: z.union([z.string(), z.array(z.discriminatedUnion('type', [text, image]))]),
    name,
  }),
  z.strictObject({
    role: z.literal('assistant'),
    content: z.union([z.string(), z.array(z.discriminatedUnion('type', [text, refusal]))]).nullish(),
    name,
    refusal: z.string().nullish(),
    // Compatible servers hand back what their models thought under this name.
    reasoning_content: z.string().nullish(),
    tool_calls: z.array(toolCall).optional(),
  }),
  z.strictObject({ role: z.literal('tool'), content: texts, tool_call_id: z.string() }),
]);

const tool = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('function'),
    function: z.strictObject({
      name: z.string().min(1),
      description: z.string().optional(),
      parameters: z.record(z.string(), z.unknown()).optional(),
      strict: z.boolean().nullish(),
    }),
  }),
  z.strictObject({
    type: z.literal('custom'),
    custom: z.strictObject({
      name: z.string().min(1),
      description: z.string().optional(),
      format: z.record(z.string(), z.unknown()).optional(),
    }),
  }),
]);
const chosen = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('function'), function: z.strictObject({ name: z.string() }) }),
  z.strictObject({ type: z.literal('custom'), custom: z.strictObject({ name: z.string() }) }),
]);
const chosenAmong = z.strictObject({
  type: z.literal('allowed_tools'),
  allowed_tools: z.strictObject({ mode: z.enum(['auto', 'required']), tools: z.array(chosen) }),
});
const format = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({ type: z.literal('json_schema'), json_schema: z.record(z.string(), z.unknown()) }),
]);

/** The allow-list of `POST /v1/chat/completions`. One choice an answer: more would multiply what was reserved. */
const schema = z.strictObject({
  model: z.string().min(1),
  messages: z.array(message).min(1),
  frequency_penalty: z.number().nullish(),
  logit_bias: z.record(z.string(), z.number()).nullish(),
  logprobs: z.boolean().nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  max_tokens: z.int().min(1).nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
  modalities: z.array(z.literal('text')).nullish(),
  n: z.literal(1, 'one choice an answer').nullish(),
  parallel_tool_calls: z.boolean().optional(),
  presence_penalty: z.number().nullish(),
  prompt_cache_key: z.string().optional(),
  prompt_cache_options: z
    .strictObject({ mode: z.string().optional(), ttl: z.string().optional() })
    .optional(),
  prompt_cache_retention: z.enum(['in_memory', '24h']).nullish(),
  reasoning_effort: z.string().nullish(),
  response_format: format.optional(),
  safety_identifier: z.string().optional(),
  seed: z.int().nullish(),
  service_tier: z.enum(['auto', 'default', 'flex']).nullish(),
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  store: z.literal(false, 'answers are not stored at the provider: set store to false').nullish(),
  stream: z.boolean().nullish(),
  stream_options: z
    .strictObject({ include_obfuscation: z.boolean().optional(), include_usage: z.boolean().optional() })
    .nullish(),
  temperature: z.number().nullish(),
  tool_choice: z.union([z.enum(['none', 'auto', 'required']), chosen, chosenAmong]).optional(),
  tools: z.array(tool).optional(),
  top_logprobs: z.int().nullish(),
  top_p: z.number().nullish(),
  user: z.string().optional(),
  verbosity: z.string().nullish(),
});

/** Checks a request of the Chat Completions API against the allow-list. */
export function checkChatRequest(body: unknown, exceptions: GatewayExceptions = {}): RequestCheck {
  return checkAgainst(schema, body, exceptions);
}
