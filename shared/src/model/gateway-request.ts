import { z } from 'zod';
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

/** What a policy lets through beyond the list, by name. The policy's author answers for where that leads. */
export interface GatewayExceptions {
  readonly fields?: readonly string[];
  readonly toolTypes?: readonly string[];
  readonly betas?: readonly string[];
}

export type RequestCheck =
  | { readonly ok: true }
  | {
      readonly ok: false;
      /** Where in the request, for example `tools.0.type`. */
      readonly field: string;
      readonly reason: string;
    };

const schema = z.strictObject(requestFields);

function withoutExceptions(body: unknown, exceptions: GatewayExceptions): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const kept = Object.entries(body).filter(([name]) => exceptions.fields?.includes(name) !== true);
  return Object.fromEntries(
    kept.map(([name, value]: [string, unknown]) => {
      if (name !== 'tools' || !Array.isArray(value)) return [name, value];
      const isExcepted = (tool: { readonly type?: unknown } | null): boolean =>
        typeof tool?.type === 'string' && exceptions.toolTypes?.includes(tool.type) === true;
      return [name, value.filter((tool: { readonly type?: unknown } | null) => !isExcepted(tool))];
    }),
  );
}

function checkBetas(header: string | undefined, exceptions: GatewayExceptions): RequestCheck {
  const betas = (header ?? '').split(',').map((name) => name.trim());
  const foreign = betas.find(
    (name) => name !== '' && !harmlessBetas.has(name) && exceptions.betas?.includes(name) !== true,
  );
  if (foreign === undefined) return { ok: true };
  return {
    ok: false,
    field: 'anthropic-beta',
    reason: `the beta ${foreign} is not on the list of this gateway`,
  };
}

function explain(issue: z.core.$ZodIssue, field: string): string {
  if (issue.code === 'unrecognized_keys') return `${issue.keys.join(', ')} is not passed on by this gateway`;
  if (/^tools\.\d+\.type$/.test(field)) {
    return 'only tools that the client runs are passed on; tools of the provider would reach the network';
  }
  if (field.endsWith('.source.type'))
    return 'content must be in the request itself; the provider fetches nothing for us';
  if (issue.code === 'invalid_union') return 'this kind is not passed on by this gateway';
  return issue.message;
}

/**
 * Checks a Messages request against the allow-list.
 * @param betaHeader the `anthropic-beta` header, comma-separated
 */
export function checkAnthropicRequest(
  body: unknown,
  betaHeader: string | undefined,
  exceptions: GatewayExceptions = {},
): RequestCheck {
  const betas = checkBetas(betaHeader, exceptions);
  if (!betas.ok) return betas;
  const parsed = schema.safeParse(withoutExceptions(body, exceptions));
  const issue = parsed.error?.issues[0];
  if (issue === undefined) return { ok: true };
  const place = issue.path.map(String).join('.');
  const field = issue.code === 'unrecognized_keys' ? [place, issue.keys[0]].filter(Boolean).join('.') : place;
  return { ok: false, field: field === '' ? 'body' : field, reason: explain(issue, field) };
}
