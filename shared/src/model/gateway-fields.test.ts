import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RequestCheck } from './gateway-check.ts';
import { checkChatRequest } from './gateway-openai-chat.ts';
import { checkResponsesRequest } from './gateway-openai-responses.ts';
import { checkAnthropicCount, checkAnthropicRequest } from './gateway-request.ts';

// Every field of the public APIs as their own SDKs of November 2026 list them (@anthropic-ai/sdk 1.14.0 with its beta
// messages, openai 7.59.0), each with a value that the provider would take, and whether the gateway passes it on.

type Fields = Readonly<Record<string, readonly ['passed' | 'refused', unknown]>>;
const text = [{ role: 'user', content: 'hello' }];
const schema = { type: 'object', properties: {} };

const messages: Fields = {
  max_tokens: ['passed', 1],
  messages: ['passed', text],
  model: ['passed', 'claude-sonnet-5'],
  billing_policy: ['refused', {}],
  cache_control: ['passed', { type: 'ephemeral' }],
  compaction: ['refused', {}],
  container: ['refused', 'container_1'],
  context_management: ['passed', { edits: [] }],
  diagnostics: ['refused', {}],
  fallback_credit_token: ['refused', 't'],
  fallbacks: ['refused', [{ model: 'x' }]],
  inference_geo: ['refused', 'us'],
  mcp_servers: ['refused', [{ type: 'url', url: 'https://x', name: 'x' }]],
  metadata: ['passed', { user_id: 'u' }],
  output_config: ['passed', { effort: 'low' }],
  output_format: ['passed', { type: 'json_schema', schema }],
  service_tier: ['passed', 'auto'],
  speed: ['refused', 'fast'],
  stop_sequences: ['passed', ['x']],
  stream: ['passed', true],
  system: ['passed', 'rules'],
  thinking: ['passed', { type: 'adaptive' }],
  thread: ['refused', 'x'],
  tool_choice: ['passed', { type: 'auto' }],
  tools: ['passed', [{ name: 'x', input_schema: schema }]],
  betas: ['refused', ['files-api-2025-04-14']],
  user_profile_id: ['refused', 'x'],
  workspace_id: ['refused', 'x'],
};
const notCounted = ['max_tokens', 'metadata', 'service_tier', 'stop_sequences', 'stream'];
const count: Fields = Object.fromEntries(
  Object.entries(messages).map(([name, [verdict, value]]) => [
    name,
    [notCounted.includes(name) ? ('refused' as const) : verdict, value],
  ]),
);

const responses: Fields = {
  access_programs: ['refused', {}],
  background: ['refused', true],
  background_options: ['refused', { completion_window: '2h' }],
  context_management: ['refused', [{ type: 'compaction' }]],
  conversation: ['refused', 'conv_1'],
  image: ['refused', { context_compression: 'auto' }],
  include: ['passed', ['reasoning.encrypted_content']],
  input: ['passed', 'hello'],
  instructions: ['passed', 'rules'],
  max_output_tokens: ['passed', 10],
  max_tool_calls: ['passed', 3],
  metadata: ['passed', { a: 'b' }],
  model: ['passed', 'gpt-5'],
  moderation: ['refused', { model: 'm' }],
  parallel_tool_calls: ['passed', true],
  previous_response_id: ['refused', 'resp_1'],
  prompt: ['refused', { id: 'pmpt_1' }],
  prompt_cache_key: ['passed', 'k'],
  prompt_cache_options: ['passed', { mode: 'implicit' }],
  prompt_cache_retention: ['passed', '24h'],
  reasoning: ['passed', { effort: 'high' }],
  safety_identifier: ['passed', 'x'],
  service_tier: ['passed', 'flex'],
  store: ['passed', false],
  stream: ['passed', true],
  stream_options: ['passed', { include_obfuscation: false }],
  temperature: ['passed', 1],
  text: ['passed', { verbosity: 'low' }],
  tool_choice: ['passed', 'auto'],
  tools: ['passed', [{ type: 'function', name: 'x', parameters: schema, strict: false }]],
  top_logprobs: ['passed', 1],
  top_p: ['passed', 1],
  truncation: ['passed', 'auto'],
  user: ['passed', 'u'],
};

const functionTool = { type: 'function', function: { name: 'x' } };
const chat: Fields = {
  messages: ['passed', text],
  model: ['passed', 'gpt-5'],
  audio: ['refused', { format: 'mp3', voice: 'alloy' }],
  frequency_penalty: ['passed', 0],
  function_call: ['refused', 'auto'],
  functions: ['refused', [{ name: 'x' }]],
  logit_bias: ['passed', { '1': 1 }],
  logprobs: ['passed', true],
  max_completion_tokens: ['passed', 1],
  max_tokens: ['passed', 1],
  metadata: ['passed', { a: 'b' }],
  modalities: ['passed', ['text']],
  moderation: ['refused', { model: 'm' }],
  n: ['passed', 1],
  parallel_tool_calls: ['passed', true],
  prediction: ['refused', { type: 'content', content: 'x' }],
  presence_penalty: ['passed', 0],
  prompt_cache_key: ['passed', 'k'],
  prompt_cache_options: ['passed', { ttl: '30m' }],
  prompt_cache_retention: ['passed', 'in_memory'],
  reasoning_effort: ['passed', 'low'],
  response_format: ['passed', { type: 'json_object' }],
  safety_identifier: ['passed', 'x'],
  seed: ['passed', 1],
  service_tier: ['passed', 'default'],
  stop: ['passed', ['x']],
  store: ['passed', false],
  stream: ['passed', true],
  stream_options: ['passed', { include_usage: true }],
  temperature: ['passed', 1],
  tool_choice: ['passed', functionTool],
  tools: ['passed', [functionTool]],
  top_logprobs: ['passed', 1],
  top_p: ['passed', 1],
  user: ['passed', 'u'],
  verbosity: ['passed', 'low'],
  web_search_options: ['refused', {}],
};

const wires: readonly (readonly [string, Fields, readonly string[], (body: unknown) => RequestCheck])[] = [
  [
    'messages',
    messages,
    ['model', 'messages', 'max_tokens'],
    (body) => checkAnthropicRequest(body, undefined),
  ],
  ['count_tokens', count, ['model', 'messages'], (body) => checkAnthropicCount(body, undefined)],
  ['responses', responses, ['model', 'input'], checkResponsesRequest],
  ['chat completions', chat, ['model', 'messages'], checkChatRequest],
];

for (const [wire, fields, needed, check] of wires)
  describe(`every field of ${wire}`, () => {
    const least = Object.fromEntries(needed.map((name) => [name, fields[name]?.[1]]));
    for (const [name, [verdict, value]] of Object.entries(fields))
      test(`${name} is ${verdict}`, () => {
        const checked = check({ ...least, [name]: value });
        assert.deepEqual(
          checked.ok ? ['passed'] : ['refused', checked.field],
          verdict === 'passed' ? ['passed'] : ['refused', name],
        );
      });
    test('a field that no API has is refused', () => {
      const checked = check({ ...least, tomorrow: 1 });
      assert.deepEqual(checked.ok ? '' : checked.field, 'tomorrow');
    });
    for (const name of needed)
      test(`${name} is needed`, () => assert.equal(check({ ...least, [name]: undefined }).ok, false));
  });

describe('OpenAI requests that would leave by way of the provider', () => {
  const asked = { model: 'gpt-5', input: 'x' };
  const toolTypes = [
    'file_search',
    'computer',
    'computer_use_preview',
    'web_search',
    'web_search_preview',
    'web_search_2025_08_26',
    'mcp',
    'code_interpreter',
    'programmatic_tool_calling',
    'image_generation',
    'shell',
    'tool_search',
    'apply_patch',
    'tomorrow',
  ];
  for (const type of toolTypes)
    test(`the tool ${type}`, () => {
      const checked = checkResponsesRequest({ ...asked, tools: [{ type }] });
      assert.deepEqual(checked.ok ? '' : checked.field, 'tools.0.type');
      assert.match(checked.ok ? '' : checked.reason, /reach the network/);
    });
  test('a policy may name a tool type, and then only that passes', () => {
    const exceptions = { toolTypes: ['web_search'] };
    assert.equal(checkResponsesRequest({ ...asked, tools: [{ type: 'web_search' }] }, exceptions).ok, true);
    assert.equal(checkResponsesRequest({ ...asked, tools: [{ type: 'mcp' }] }, exceptions).ok, false);
  });
  const itemTypes = [
    'item_reference',
    'mcp_call',
    'mcp_list_tools',
    'mcp_approval_response',
    'web_search_call',
    'file_search_call',
    'code_interpreter_call',
    'image_generation_call',
    'computer_call_output',
    'shell_call',
    'program',
    'compaction',
    'additional_tools',
  ];
  for (const type of itemTypes)
    test(`the item ${type}`, () => {
      const checked = checkResponsesRequest({ ...asked, input: [{ type, id: 'x' }] });
      assert.equal(checked.ok, false);
    });
  const said = (content: unknown) => ({ ...asked, input: [{ role: 'user', content: [content] }] });
  for (const content of [
    { type: 'input_image', image_url: 'https://x/y.png' },
    { type: 'input_image', file_id: 'file-1' },
    { type: 'input_file', file_url: 'https://x' },
    { type: 'input_file', file_id: 'file-1' },
  ])
    test(JSON.stringify(content), () => assert.equal(checkResponsesRequest(said(content)).ok, false));
  test('a picture in the request passes', () => {
    const picture = { type: 'input_image', image_url: 'data:image/png;base64,AA==' };
    assert.deepEqual(checkResponsesRequest(said(picture)), { ok: true });
  });
  test('stored answers', () => {
    assert.equal(checkResponsesRequest({ ...asked, store: true }).ok, false);
    assert.equal(checkChatRequest({ model: 'm', messages: text, store: true }).ok, false);
  });
  test('an image by address in a chat', () => {
    const image = { type: 'image_url', image_url: { url: 'https://x/y.png' } };
    const checked = checkChatRequest({ model: 'm', messages: [{ role: 'user', content: [image] }] });
    assert.equal(checked.ok, false);
  });
});

test('what Codex sends passes: turns, reasoning, calls and their results', () => {
  const input = [
    { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'rules' }] },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'go' }] },
    { type: 'reasoning', id: 'rs_1', summary: [], content: null, encrypted_content: 'e' },
    { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'shell', arguments: '{}', status: 'completed' },
    { type: 'function_call_output', call_id: 'c', output: 'done' },
    { type: 'custom_tool_call', call_id: 'd', name: 'apply_patch', input: '*** Begin' },
    { type: 'custom_tool_call_output', call_id: 'd', output: 'ok' },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'done' }] },
  ];
  const tools = [
    { type: 'function', name: 'shell', description: 'runs', strict: false, parameters: schema },
    { type: 'custom', name: 'apply_patch', format: { type: 'grammar', syntax: 'lark', definition: 'x' } },
  ];
  const body = {
    model: 'gpt-5.2-codex',
    instructions: 'x',
    input,
    tools,
    tool_choice: 'auto',
    parallel_tool_calls: true,
    reasoning: { effort: 'medium', summary: 'auto' },
    store: false,
    stream: true,
    include: ['reasoning.encrypted_content'],
    prompt_cache_key: 'thread',
    text: { verbosity: 'low' },
  };
  assert.deepEqual(checkResponsesRequest(body), { ok: true });
});
