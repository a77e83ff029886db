import { z } from 'zod';
import { checkAgainst, checkBetas } from './gateway-check.ts';
import type { GatewayExceptions, RequestCheck } from './gateway-check.ts';
import { harmlessBetas } from './gateway-betas.ts';
import { cacheControlSchema, messageSchema, systemSchema } from './gateway-content.ts';

/** A tool that the client runs. Every other `type` names one that runs at the provider, or that we do not know. */
const clientTool = z.strictObject({
  type: z.literal('custom').nullish(),
  name: z.string().min(1),
  description: z.string().optional(),
  input_schema: z.record(z.string(), z.unknown()),
  cache_control: cacheControlSchema.nullish(),
  strict: z.boolean().optional(),
  eager_input_streaming: z.boolean().nullish(),
  input_examples: z.array(z.record(z.string(), z.unknown())).optional(),
  defer_loading: z.boolean().optional(),
  allowed_callers: z.array(z.literal('direct')).optional(),
});

const parallel = { disable_parallel_tool_use: z.boolean().optional() };
const toolChoice = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('auto'), ...parallel }),
  z.strictObject({ type: z.literal('any'), ...parallel }),
  z.strictObject({ type: z.literal('tool'), name: z.string(), ...parallel }),
  z.strictObject({ type: z.literal('none') }),
]);
const display = { display: z.enum(['summarized', 'omitted']).nullish() };
const thinking = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('enabled'), budget_tokens: z.int().min(0), ...display }),
  z.strictObject({ type: z.literal('adaptive'), ...display }),
  z.strictObject({ type: z.literal('disabled') }),
]);
const jsonFormat = z.strictObject({
  type: z.literal('json_schema'),
  schema: z.record(z.string(), z.unknown()),
});
const quantity = z.looseObject({ type: z.string(), value: z.int().min(0).optional() });
// Edits that only drop content. Compaction samples once more at a price of its own and is named by policy.
const contextEdit = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('clear_tool_uses_20250919'),
    trigger: quantity.optional(),
    keep: quantity.optional(),
    clear_at_least: quantity.nullish(),
    clear_tool_inputs: z.union([z.boolean(), z.array(z.string())]).nullish(),
    exclude_tools: z.array(z.string()).nullish(),
  }),
  z.strictObject({
    type: z.literal('clear_thinking_20251015'),
    keep: z.union([z.literal('all'), quantity]).optional(),
  }),
]);

/** The allow-list of `POST /v1/messages`: what is not here is refused, known to the provider or not. */
const requestFields = {
  model: z.string().min(1),
  max_tokens: z.int().min(0),
  messages: z.array(messageSchema).min(1),
  system: systemSchema.optional(),
  stream: z.boolean().optional(),
  temperature: z.number().optional(),
  top_k: z.int().optional(),
  top_p: z.number().optional(),
  stop_sequences: z.array(z.string()).optional(),
  metadata: z.strictObject({ user_id: z.string().nullish() }).nullish(),
  cache_control: cacheControlSchema.nullish(),
  thinking: thinking.optional(),
  tool_choice: toolChoice.optional(),
  tools: z.array(clientTool).optional(),
  output_config: z.strictObject({ effort: z.string().nullish(), format: jsonFormat.nullish() }).optional(),
  output_format: jsonFormat.nullish(),
  context_management: z.strictObject({ edits: z.array(contextEdit).optional() }).nullish(),
  service_tier: z.enum(['auto', 'standard_only']).optional(),
} as const;

const schema = z.strictObject(requestFields);
/** `POST /v1/messages/count_tokens` takes what shapes the prompt, and nothing of the sampling. */
const countSchema = schema.pick({
  model: true,
  messages: true,
  system: true,
  cache_control: true,
  thinking: true,
  tool_choice: true,
  tools: true,
  output_config: true,
  output_format: true,
  context_management: true,
});

/**
 * Checks a Messages request against the allow-list.
 * @param betaHeader the `anthropic-beta` header, comma-separated
 */
export function checkAnthropicRequest(
  body: unknown,
  betaHeader: string | undefined,
  exceptions: GatewayExceptions = {},
): RequestCheck {
  const betas = checkBetas('anthropic-beta', betaHeader, harmlessBetas, exceptions);
  return betas.ok ? checkAgainst(schema, body, exceptions) : betas;
}

/** Checks a request that only counts tokens. */
export function checkAnthropicCount(
  body: unknown,
  betaHeader: string | undefined,
  exceptions: GatewayExceptions = {},
): RequestCheck {
  const betas = checkBetas('anthropic-beta', betaHeader, harmlessBetas, exceptions);
  return betas.ok ? checkAgainst(countSchema, body, exceptions) : betas;
}
