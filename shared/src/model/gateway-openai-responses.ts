import { z } from 'zod';
import { checkAgainst, fetchesNothing } from './gateway-check.ts';
import type { GatewayExceptions, RequestCheck } from './gateway-check.ts';

const dataUrl = z.string().regex(/^data:/, fetchesNothing);
const status = z.string().nullish();
const id = z.string().nullish();
/** Who called a tool: the model itself. A program that runs at the provider is not passed on. */
const caller = z.strictObject({ type: z.literal('direct') }).nullish();
const breakpoint = z.strictObject({ mode: z.string() }).optional();

const inputText = z.strictObject({
  type: z.literal('input_text'),
  text: z.string(),
  prompt_cache_breakpoint: breakpoint,
});
const outputText = z.strictObject({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z.array(z.unknown()).max(0).optional(),
  logprobs: z.array(z.unknown()).optional(),
});
const refusal = z.strictObject({ type: z.literal('refusal'), refusal: z.string() });
const inputImage = z.strictObject({
  type: z.literal('input_image'),
  detail: z.string().nullish(),
  image_url: dataUrl,
  prompt_cache_breakpoint: breakpoint,
});
const inputFile = z.strictObject({
  type: z.literal('input_file'),
  detail: z.string().optional(),
  filename: z.string().optional(),
  file_data: z.string(),
  prompt_cache_breakpoint: breakpoint,
});
const content = z.discriminatedUnion('type', [inputText, outputText, refusal, inputImage, inputFile]);
const contents = z.union([z.string(), z.array(content)]);
const output = z.union([
  z.string(),
  z.array(z.discriminatedUnion('type', [inputText, inputImage, inputFile])),
]);

const message = z.strictObject({
  type: z.literal('message').optional(),
  id,
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: contents,
  phase: z.enum(['commentary', 'final_answer']).nullish(),
  status,
});
const functionCall = z.strictObject({
  type: z.literal('function_call'),
  id,
  call_id: z.string(),
  name: z.string(),
  namespace: z.string().optional(),
  arguments: z.string(),
  caller,
  status,
});
const functionOutput = z.strictObject({
  type: z.literal('function_call_output'),
  id,
  call_id: z.string(),
  output,
  caller,
  status,
});
const customCall = z.strictObject({
  type: z.literal('custom_tool_call'),
  id,
  call_id: z.string(),
  name: z.string(),
  namespace: z.string().optional(),
  input: z.string(),
  caller,
  status,
});
const customOutput = z.strictObject({
  type: z.literal('custom_tool_call_output'),
  id,
  call_id: z.string(),
  output,
  caller,
  status,
});
const reasoningItem = z.strictObject({
  type: z.literal('reasoning'),
  id,
  summary: z.array(z.strictObject({ type: z.literal('summary_text'), text: z.string() })),
  content: z.array(z.strictObject({ type: z.literal('reasoning_text'), text: z.string() })).nullish(),
  encrypted_content: z.string().nullish(),
  status,
});
/** A command that the client ran by itself; the shell is the client's, not the provider's. */
const localShellCall = z.strictObject({
  type: z.literal('local_shell_call'),
  id,
  call_id: z.string(),
  action: z.record(z.string(), z.unknown()),
  status,
});
const localShellOutput = z.strictObject({
  type: z.literal('local_shell_call_output'),
  id,
  output: z.string(),
  status,
});
// A message may leave its type out, so it is looked for first and by itself.
const typedItem = z.discriminatedUnion('type', [
  message.extend({ type: z.literal('message') }),
  functionCall,
  functionOutput,
  customCall,
  customOutput,
  reasoningItem,
  localShellCall,
  localShellOutput,
]);
const item = z.preprocess(
  (value) => (isUntyped(value) ? { ...(value as object), type: 'message' } : value),
  typedItem,
);

function isUntyped(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !('type' in value);
}

const functionTool = z.strictObject({
  type: z.literal('function'),
  name: z.string().min(1),
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
  output_schema: z.record(z.string(), z.unknown()).nullish(),
  strict: z.boolean().nullish(),
  defer_loading: z.boolean().optional(),
  allowed_callers: z.array(z.literal('direct')).nullish(),
});
const customTool = z.strictObject({
  type: z.literal('custom'),
  name: z.string().min(1),
  description: z.string().optional(),
  format: z.record(z.string(), z.unknown()).optional(),
  defer_loading: z.boolean().optional(),
  allowed_callers: z.array(z.literal('direct')).nullish(),
});
/** A tool that the client runs: its own functions, and the shell that runs where the client is. */
const tool = z.discriminatedUnion('type', [
  functionTool,
  customTool,
  z.strictObject({ type: z.literal('local_shell') }),
  z.strictObject({
    type: z.literal('namespace'),
    name: z.string().min(1),
    description: z.string(),
    tools: z.array(z.discriminatedUnion('type', [functionTool, customTool])),
  }),
]);
const named = z.strictObject({ type: z.enum(['function', 'custom']), name: z.string() });
const toolChoice = z.union([
  z.enum(['none', 'auto', 'required']),
  named,
  z.strictObject({
    type: z.literal('allowed_tools'),
    mode: z.enum(['auto', 'required']),
    tools: z.array(named),
  }),
]);

const format = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({
    type: z.literal('json_schema'),
    name: z.string(),
    schema: z.record(z.string(), z.unknown()),
    description: z.string().optional(),
    strict: z.boolean().nullish(),
  }),
]);

/**
 * The allow-list of `POST /v1/responses`. What the provider would keep (`store`, `conversation`,
 * `previous_response_id`, `background`, `prompt`) is not on it: a session's words stay in its own requests.
 */
const schema = z.strictObject({
  model: z.string().min(1),
  input: z.union([z.string(), z.array(item)]),
  instructions: z.string().nullish(),
  include: z.array(z.enum(['reasoning.encrypted_content', 'message.output_text.logprobs'])).nullish(),
  max_output_tokens: z.int().min(1).nullish(),
  // Bounds the calls of tools that a policy may have named.
  max_tool_calls: z.int().min(1).nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
  client_metadata: z.record(z.string(), z.string()).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  prompt_cache_key: z.string().nullish(),
  prompt_cache_options: z
    .strictObject({ mode: z.string().optional(), ttl: z.string().optional() })
    .optional(),
  prompt_cache_retention: z.enum(['in_memory', '24h']).nullish(),
  reasoning: z
    .strictObject({
      context: z.string().nullish(),
      effort: z.string().nullish(),
      generate_summary: z.string().nullish(),
      summary: z.string().nullish(),
    })
    .nullish(),
  safety_identifier: z.string().nullish(),
  service_tier: z.enum(['auto', 'default', 'flex']).nullish(),
  store: z.literal(false, 'answers are not stored at the provider: set store to false').nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.strictObject({ include_obfuscation: z.boolean().optional() }).nullish(),
  temperature: z.number().nullish(),
  text: z.strictObject({ format: format.optional(), verbosity: z.string().nullish() }).optional(),
  tool_choice: toolChoice.optional(),
  tools: z.array(tool).optional(),
  top_logprobs: z.int().nullish(),
  top_p: z.number().nullish(),
  truncation: z.enum(['auto', 'disabled']).nullish(),
  user: z.string().optional(),
});

/** Checks a request of the Responses API against the allow-list. */
export function checkResponsesRequest(body: unknown, exceptions: GatewayExceptions = {}): RequestCheck {
  return checkAgainst(schema, body, exceptions);
}
