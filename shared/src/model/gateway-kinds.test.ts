import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RequestCheck } from './gateway-check.ts';
import { checkChatRequest } from './gateway-openai-chat.ts';
import { checkResponsesRequest } from './gateway-openai-responses.ts';
import { checkAnthropicRequest } from './gateway-request.ts';

// Every kind of tool, block, item, part and choice of the public APIs as their own SDKs of November 2026 list them
// (@anthropic-ai/sdk 1.14.0 with its beta messages, openai 7.59.0). The passed ones have a value that the provider
// would take; a refused one is refused by its type, whatever else it says.

interface Kinds {
  readonly passed: readonly object[];
  readonly refused: readonly (string | object)[];
  readonly ask: (value: object) => RequestCheck;
}
const schema = { type: 'object', properties: {} };
const data = 'data:image/png;base64,AA==';
const base64 = { type: 'base64', media_type: 'image/png', data: 'AA==' };
const hello = [{ role: 'user', content: 'hello' }];

const messages = (more: object): RequestCheck =>
  checkAnthropicRequest({ model: 'claude-sonnet-5', max_tokens: 1, messages: hello, ...more }, undefined);
const said = (block: object): RequestCheck => messages({ messages: [{ role: 'user', content: [block] }] });
const responses = (more: object): RequestCheck =>
  checkResponsesRequest({ model: 'gpt-5', input: 'x', ...more });
const chat = (more: object): RequestCheck => checkChatRequest({ model: 'gpt-5', messages: hello, ...more });

const kinds: Readonly<Record<string, Kinds>> = {
  'tools of messages': {
    ask: (tool) => messages({ tools: [tool] }),
    passed: [
      { name: 'x', input_schema: schema },
      { type: 'custom', name: 'x', input_schema: schema },
    ],
    refused: [
      'advisor_20260301',
      'bash_20241022',
      'bash_20250124',
      'browser_toolset_20260801',
      'code_execution_20250522',
      'code_execution_20250825',
      'code_execution_20260120',
      'code_execution_20260521',
      'computer_20241022',
      'computer_20250124',
      'computer_20251124',
      'computer_toolset_20260801',
      'mcp_toolset',
      'memory_20250818',
      'text_editor_20241022',
      'text_editor_20250124',
      'text_editor_20250429',
      'text_editor_20250728',
      'tool_search_tool_bm25',
      'tool_search_tool_bm25_20251119',
      'tool_search_tool_regex',
      'tool_search_tool_regex_20251119',
      'web_fetch_20250910',
      'web_fetch_20260209',
      'web_fetch_20260309',
      'web_fetch_20260318',
      'web_search_20250305',
      'web_search_20260209',
      'web_search_20260318',
    ],
  },
  'blocks of messages': {
    ask: said,
    passed: [
      { type: 'text', text: 'x' },
      { type: 'image', source: base64 },
      { type: 'document', source: { ...base64, media_type: 'application/pdf' } },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'x' } },
      { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'x' }] } },
      { type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text: 'x' }] },
      { type: 'thinking', thinking: 'x', signature: 's' },
      { type: 'redacted_thinking', data: 'x' },
      { type: 'tool_use', id: 't', name: 'x', input: {} },
      { type: 'tool_result', tool_use_id: 't', content: [{ type: 'image', source: base64 }] },
    ],
    refused: [
      'advisor_tool_result',
      'bash_code_execution_tool_result',
      'code_execution_tool_result',
      'compaction',
      'container_upload',
      'fallback',
      'mcp_tool_listing',
      'mcp_tool_result',
      'mcp_tool_use',
      'server_tool_use',
      'text_editor_code_execution_tool_result',
      'tool_addition',
      'tool_removal',
      'tool_search_tool_result',
      'web_fetch_tool_result',
      'web_search_tool_result',
      { type: 'image', source: { type: 'url', url: 'https://x' } },
      { type: 'image', source: { type: 'file', file_id: 'f' } },
      { type: 'document', source: { type: 'url', url: 'https://x' } },
      { type: 'document', source: { type: 'file', file_id: 'f' } },
      {
        type: 'document',
        source: { type: 'content', content: [{ type: 'image', source: { type: 'url', url: 'https://x' } }] },
      },
      {
        type: 'tool_result',
        tool_use_id: 't',
        content: [{ type: 'document', source: { type: 'file', file_id: 'f' } }],
      },
      { type: 'tool_result', tool_use_id: 't', content: [{ type: 'tool_reference', tool_name: 'x' }] },
      { type: 'tool_use', id: 't', name: 'x', input: {}, caller: { type: 'code_execution_20250825' } },
    ],
  },
  'choices and edits of messages': {
    ask: messages,
    passed: [
      ...['auto', 'any', 'none'].map((type) => ({ tool_choice: { type } })),
      { tool_choice: { type: 'tool', name: 'x' } },
      ...['adaptive', 'disabled'].map((type) => ({ thinking: { type } })),
      { thinking: { type: 'enabled', budget_tokens: 1024 } },
      ...['clear_tool_uses_20250919', 'clear_thinking_20251015'].map((type) => ({
        context_management: { edits: [{ type }] },
      })),
      { service_tier: 'standard_only' },
      { output_config: { format: { type: 'json_schema', schema } } },
    ],
    refused: [
      { context_management: { edits: [{ type: 'compact_20260112' }] } },
      { output_config: { task_budget: { type: 'tokens', total: 20_000 } } },
      { service_tier: 'priority' },
    ],
  },
  'tools of responses': {
    ask: (tool) => responses({ tools: [tool] }),
    passed: [
      { type: 'function', name: 'x', parameters: schema, strict: true },
      { type: 'custom', name: 'x' },
      { type: 'local_shell' },
      { type: 'namespace', name: 'x', description: 'y', tools: [{ type: 'custom', name: 'z' }] },
    ],
    refused: [
      'apply_patch',
      'code_interpreter',
      'computer',
      'computer_use_preview',
      'file_search',
      'image_generation',
      'mcp',
      'programmatic_tool_calling',
      'shell',
      'tool_search',
      'web_search',
      'web_search_2025_08_26',
      'web_search_preview',
      'web_search_preview_2025_03_11',
      { type: 'function', name: 'x', parameters: schema, allowed_callers: ['programmatic'] },
      { type: 'namespace', name: 'x', description: 'y', tools: [{ type: 'mcp', server_url: 'https://x' }] },
    ],
  },
  'items of responses': {
    ask: (item) => responses({ input: [item] }),
    passed: [
      { role: 'user', content: 'x' },
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'x' }] },
      { type: 'message', role: 'user', content: [{ type: 'input_image', image_url: data }] },
      { type: 'message', role: 'user', content: [{ type: 'input_file', file_data: 'AA==' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'x', annotations: [] }] },
      { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'x' }] },
      { type: 'function_call', call_id: 'c', name: 'x', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'x' },
      { type: 'custom_tool_call', call_id: 'c', name: 'x', input: 'y' },
      { type: 'custom_tool_call_output', call_id: 'c', output: [{ type: 'input_text', text: 'x' }] },
      { type: 'reasoning', id: 'r', summary: [], encrypted_content: 'x' },
      { type: 'local_shell_call', id: 'l', call_id: 'c', action: { type: 'exec' }, status: 'completed' },
      { type: 'local_shell_call_output', id: 'l', output: 'x' },
    ],
    refused: [
      'additional_tools',
      'apply_patch_call',
      'apply_patch_call_output',
      'code_interpreter_call',
      'compaction',
      'compaction_trigger',
      'computer_call',
      'computer_call_output',
      'configuration_update',
      'file_search_call',
      'image_generation_call',
      'item_reference',
      'mcp_approval_request',
      'mcp_approval_response',
      'mcp_call',
      'mcp_list_tools',
      'program',
      'program_output',
      'shell_call',
      'shell_call_output',
      'tool_search_call',
      'tool_search_output',
      'web_search_call',
      { id: 'msg_1' },
      { role: 'user', content: [{ type: 'input_image', image_url: 'https://x' }] },
      { role: 'user', content: [{ type: 'input_image', file_id: 'f' }] },
      { role: 'user', content: [{ type: 'input_file', file_url: 'https://x' }] },
      { role: 'user', content: [{ type: 'input_file', file_id: 'f' }] },
      { role: 'user', content: [{ type: 'input_audio', input_audio: {} }] },
      {
        type: 'function_call_output',
        call_id: 'c',
        output: [{ type: 'input_image', image_url: 'https://x' }],
      },
      { type: 'function_call', call_id: 'c', name: 'x', arguments: '{}', caller: { type: 'program' } },
    ],
  },
  'choices of responses': {
    ask: responses,
    passed: [
      ...['none', 'auto', 'required'].map((tool_choice) => ({ tool_choice })),
      { tool_choice: { type: 'function', name: 'x' } },
      { tool_choice: { type: 'custom', name: 'x' } },
      {
        tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'x' }] },
      },
      { text: { format: { type: 'text' } } },
      { text: { format: { type: 'json_object' } } },
      { text: { format: { type: 'json_schema', name: 'x', schema } } },
      ...['reasoning.encrypted_content', 'message.output_text.logprobs'].map((one) => ({ include: [one] })),
      ...['auto', 'default', 'flex'].map((service_tier) => ({ service_tier })),
    ],
    refused: [
      ...[
        'apply_patch',
        'code_interpreter',
        'computer',
        'computer_use',
        'computer_use_preview',
        'file_search',
        'image_generation',
        'mcp',
        'programmatic_tool_calling',
        'shell',
        'web_search_preview',
      ].map((type) => ({ tool_choice: { type } })),
      { tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'mcp', server_label: 'x' }] } },
      ...[
        'code_interpreter_call.outputs',
        'computer_call_output.output.image_url',
        'file_search_call.results',
        'message.input_image.image_url',
        'web_search_call.action.sources',
        'web_search_call.results',
      ].map((one) => ({ include: [one] })),
      ...['priority', 'fast'].map((service_tier) => ({ service_tier })),
      { reasoning: { mode: 'pro' } },
      { prompt_cache_options: { mode: 'explicit', comparison_response_id: 'resp_1' } },
    ],
  },
  'tools and choices of chat completions': {
    ask: chat,
    passed: [
      { tools: [{ type: 'function', function: { name: 'x' } }] },
      { tools: [{ type: 'custom', custom: { name: 'x' } }] },
      ...['none', 'auto', 'required'].map((tool_choice) => ({ tool_choice })),
      { tool_choice: { type: 'function', function: { name: 'x' } } },
      { tool_choice: { type: 'custom', custom: { name: 'x' } } },
      {
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'x' } }] },
        },
      },
      ...['text', 'json_object'].map((type) => ({ response_format: { type } })),
      { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } },
    ],
    refused: [
      ...['web_search', 'mcp', 'file_search'].map((type) => ({ tools: [{ type }] })),
      {
        tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [{ type: 'mcp' }] } },
      },
      { modalities: ['text', 'audio'] },
      { n: 2 },
      ...['priority', 'fast', 'scale'].map((service_tier) => ({ service_tier })),
    ],
  },
  'messages of chat completions': {
    ask: (message) => chat({ messages: [message] }),
    passed: [
      ...['system', 'developer', 'user'].map((role) => ({ role, content: [{ type: 'text', text: 'x' }] })),
      { role: 'user', content: [{ type: 'image_url', image_url: { url: data } }] },
      { role: 'assistant', content: [{ type: 'refusal', refusal: 'x' }] },
      {
        role: 'assistant',
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'x', arguments: '{}' } }],
      },
      { role: 'assistant', tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'x', input: 'y' } }] },
      { role: 'tool', tool_call_id: 'c', content: 'x' },
    ],
    refused: [
      { role: 'function', name: 'x', content: 'y' },
      { role: 'assistant', content: 'x', audio: { id: 'a' } },
      { role: 'assistant', content: 'x', function_call: { name: 'x', arguments: '{}' } },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://x' } }] },
      { role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } }] },
      { role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] },
    ],
  },
};

for (const [what, { passed, refused, ask }] of Object.entries(kinds))
  describe(`every kind among ${what}`, () => {
    for (const value of passed)
      test(`passed: ${JSON.stringify(value)}`, () => assert.deepEqual(ask(value), { ok: true }));
    for (const value of refused) {
      const shaped = typeof value === 'string' ? { type: value, id: 'x', name: 'x' } : value;
      test(`refused: ${JSON.stringify(shaped)}`, () => {
        const checked = ask(shaped);
        assert.equal(checked.ok, false);
        // By what it is, and not since the example is broken.
        assert.match(checked.ok ? '' : checked.field, /\.|service_tier|tool_choice|^n$/);
        assert.notEqual(checked.ok ? '' : checked.reason, '');
      });
    }
  });

test('a refusal names the place, however deep and whatever forms the value could have', () => {
  const field = (checked: RequestCheck): string => (checked.ok ? '' : checked.field);
  const asked = { role: 'user', content: 'x' };
  assert.equal(field(responses({ input: [asked, { type: 'mcp_call' }] })), 'input.1.type');
  const image = { type: 'input_image', image_url: 'https://x' };
  assert.equal(
    field(responses({ input: [{ role: 'user', content: [image] }] })),
    'input.0.content.0.image_url',
  );
  const remote = { type: 'image_url', image_url: { url: 'https://x' } };
  assert.equal(
    field(chat({ messages: [{ role: 'user', content: [remote] }] })),
    'messages.0.content.0.image_url.url',
  );
  assert.equal(field(responses({ tool_choice: { type: 'mcp' } })), 'tool_choice.type');
});

describe('every beta of messages', () => {
  const harmless = [
    'context-1m-2025-08-07',
    'context-management-2025-06-27',
    'dev-full-thinking-2025-05-14',
    'extended-cache-ttl-2025-04-11',
    'interleaved-thinking-2025-05-14',
    'model-context-window-exceeded-2025-08-26',
    'output-128k-2025-02-19',
    'pdfs-2024-09-25',
    'prompt-caching-2024-07-31',
    'structured-outputs-2025-11-13',
    'thinking-token-count-2026-05-13',
    'token-counting-2024-11-01',
    'token-efficient-tools-2025-02-19',
  ];
  const refused = [
    'admin-user-sign-out-2026-10-08',
    'advisor-tool-2026-03-01',
    'agent-memory-2026-07-22',
    'analytics-usage-cost-2026-08-24',
    'cache-diagnosis-2026-04-07',
    'ce-claude-code-managed-settings-2026-10-06',
    'ce-plugins-2026-09-01',
    'ce-user-management-2026-07-13',
    'code-execution-2025-05-22',
    'compact-2026-01-12',
    'compact-2026-09-04',
    'computer-use-2024-10-22',
    'computer-use-2025-01-24',
    'computer-use-2025-11-24',
    'dreaming-2026-04-21',
    'efs-2026-10-01',
    'experimental-claude-tag-2026-10-21',
    'fallback-credit-2026-06-01',
    'fallback-credit-2026-07-01',
    'fast-mode-2026-02-01',
    'files-api-2025-04-14',
    'google-managed-data-controls-2026-09-01',
    'inline-tools-2026-09-15',
    'managed-agents-2026-04-01',
    'mcp-client-2025-04-04',
    'mcp-client-2025-11-20',
    'mcp-client-2026-09-15',
    'mcp-tunnels-2026-06-22',
    'message-batches-2024-09-24',
    'message-threads-2026-08-12',
    'mid-conversation-output-config-2026-07-01',
    'mid-conversation-system-clear-at-2026-08-21',
    'mid-conversation-tool-changes-2026-07-01',
    'output-300k-2026-03-24',
    'server-side-fallback-2026-06-01',
    'server-side-fallback-2026-07-01',
    'skills-2025-10-02',
    'spend-limit-reads-2026-09-26',
    'task-budgets-2026-03-13',
    'telemetry-destinations-2026-08-11',
    'thinking-binding-controls-2026-08-01',
    'thinking-display-updates-2026-08-18',
    'user-profiles-2026-03-24',
    'user-profiles-2026-08-18',
    'user-profiles-2026-09-04',
    'user-profiles-billing-2026-10-01',
    'webhooks-2026-10-07',
  ];
  const plain = { model: 'claude-sonnet-5', max_tokens: 1, messages: hello };
  for (const beta of harmless)
    test(`${beta} passes`, () => assert.deepEqual(checkAnthropicRequest(plain, beta), { ok: true }));
  for (const beta of refused)
    test(`${beta} is refused`, () => assert.equal(checkAnthropicRequest(plain, beta).ok, false));
});
