import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkAnthropicRequest } from './gateway-request.ts';

const plain = { model: 'claude-sonnet-5', max_tokens: 100, messages: [{ role: 'user', content: 'hello' }] };
const withContent = (block: unknown): unknown => ({
  ...plain,
  messages: [{ role: 'user', content: [block] }],
});
const withTool = (tool: unknown): unknown => ({ ...plain, tools: [tool] });
const schema = { type: 'object', properties: { path: { type: 'string' } } };

describe('requests that the gateway passes on', () => {
  const passed: Readonly<Record<string, unknown>> = {
    'the plainest': plain,
    'every sampling field': {
      ...plain,
      stream: true,
      temperature: 1,
      top_k: 5,
      top_p: 0.9,
      stop_sequences: ['END'],
      metadata: { user_id: 'u' },
      service_tier: 'auto',
      cache_control: { type: 'ephemeral' },
      thinking: { type: 'enabled', budget_tokens: 1024 },
      output_config: { effort: 'high' },
    },
    'system blocks with cache marks': {
      ...plain,
      system: [{ type: 'text', text: 'rules', cache_control: { type: 'ephemeral', ttl: '1h' } }],
    },
    'a system turn inside messages': {
      ...plain,
      messages: [{ role: 'system', content: 'a skill' }, ...plain.messages],
    },
    'client tools': withTool({ name: 'read_file', description: 'reads', input_schema: schema }),
    'client tools that say so': withTool({ type: 'custom', name: 'read_file', input_schema: schema }),
    'tool choice': { ...plain, tool_choice: { type: 'tool', name: 'x', disable_parallel_tool_use: true } },
    'tool use and result': {
      ...plain,
      messages: [
        ...plain.messages,
        { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'x', input: {} }] },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 't', content: 'done', is_error: false }],
        },
      ],
    },
    'thinking that is handed back': {
      ...plain,
      messages: [
        ...plain.messages,
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: '…', signature: 's' },
            { type: 'redacted_thinking', data: 'd' },
          ],
        },
      ],
    },
    'an image in the request': withContent({
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data: 'AA==' },
    }),
    'a document in the request': withContent({
      type: 'document',
      source: { type: 'text', media_type: 'text/plain', data: 'x' },
    }),
    'dropping old tool results': {
      ...plain,
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    },
  };
  for (const [name, body] of Object.entries(passed)) {
    test(name, () => assert.deepEqual(checkAnthropicRequest(body, undefined), { ok: true }));
  }

  test('harmless betas', () => {
    const header = 'claude-code-20250219, interleaved-thinking-2025-05-14';
    assert.deepEqual(checkAnthropicRequest(plain, header), { ok: true });
  });
});

describe('requests that the gateway refuses, with the place', () => {
  const refused: readonly (readonly [string, unknown])[] = [
    ['container', { ...plain, container: 'c_1' }],
    ['mcp_servers', { ...plain, mcp_servers: [{ type: 'url', url: 'https://x', name: 'x' }] }],
    ['inference_geo', { ...plain, inference_geo: 'us' }],
    ['speed', { ...plain, speed: 'fast' }],
    ['fallbacks', { ...plain, fallbacks: [{ model: 'other' }] }],
    ['fallback_credit_token', { ...plain, fallback_credit_token: 't' }],
    ['compaction', { ...plain, compaction: {} }],
    ['diagnostics', { ...plain, diagnostics: {} }],
    ['thread', { ...plain, thread: 'x' }],
    ['user_profile_id', { ...plain, user_profile_id: 'x' }],
    ['workspace_id', { ...plain, workspace_id: 'x' }],
    ['betas', { ...plain, betas: ['files-api-2025-04-14'] }],
    ['tomorrow', { ...plain, tomorrow: 1 }],
    [
      '__proto__',
      JSON.parse('{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}],"__proto__":{}}'),
    ],
    ['model', { ...plain, model: undefined }],
    ['max_tokens', { ...plain, max_tokens: -1 }],
    ['messages', { ...plain, messages: [] }],
    ['messages.0.role', { ...plain, messages: [{ role: 'tool', content: 'x' }] }],
    [
      'messages.0.content.0.source.type',
      withContent({ type: 'image', source: { type: 'url', url: 'https://x' } }),
    ],
    [
      'messages.0.content.0.source.type',
      withContent({ type: 'image', source: { type: 'file', file_id: 'f' } }),
    ],
    [
      'messages.0.content.0.source.type',
      withContent({ type: 'document', source: { type: 'url', url: 'https://x' } }),
    ],
    ['messages.0.content.0.type', withContent({ type: 'container_upload', file_id: 'f' })],
    [
      'messages.0.content.0.type',
      withContent({ type: 'server_tool_use', id: 's', name: 'web_search', input: {} }),
    ],
    [
      'messages.0.content.0.type',
      withContent({ type: 'web_search_tool_result', tool_use_id: 's', content: [] }),
    ],
    ['messages.0.content.0.type', withContent({ type: 'mcp_tool_use', id: 'm', name: 'x', input: {} })],
    [
      'messages.0.content.0.content.0.source.type',
      withContent({
        type: 'tool_result',
        tool_use_id: 't',
        content: [{ type: 'image', source: { type: 'url', url: 'https://x' } }],
      }),
    ],
    ['messages.0.content.0.url', withContent({ type: 'text', text: 'x', url: 'https://x' })],
    [
      'tools.0.allowed_callers.0',
      withTool({ name: 'x', input_schema: schema, allowed_callers: ['code_execution_20250825'] }),
    ],
    ...[
      'web_search_20250305',
      'web_fetch_20250910',
      'code_execution_20250825',
      'mcp_toolset',
      'tool_search_tool_regex_20251119',
      'memory_20250818',
      'advisor_20260301',
      'bash_20250124',
    ].map((type) => ['tools.0.type', withTool({ type, name: 'x', input_schema: schema })] as const),
    [
      'context_management.edits.0.type',
      { ...plain, context_management: { edits: [{ type: 'compact_20260112' }] } },
    ],
    ['tool_choice.type', { ...plain, tool_choice: { type: 'server' } }],
    ['body', 'text'],
    ['body', null],
    ['body', []],
  ];
  for (const [field, body] of refused) {
    test(`${field}: ${JSON.stringify(body).slice(60, 160)}`, () => {
      const check = checkAnthropicRequest(body, undefined);
      assert.equal(check.ok, false);
      assert.equal(check.field, field);
      assert.notEqual(check.reason, '');
    });
  }

  for (const beta of [
    'mcp-client-2025-04-04',
    'code-execution-2025-08-25',
    'files-api-2025-04-14',
    'fast-mode-2026-02-01',
  ]) {
    test(`the beta ${beta}`, () => {
      const check = checkAnthropicRequest(plain, `claude-code-20250219,${beta}`);
      assert.deepEqual(check.ok ? [] : [check.field, check.reason.includes(beta)], ['anthropic-beta', true]);
    });
  }
});

test('a policy may name exceptions, and only those pass', () => {
  const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 2 };
  const exceptions = {
    toolTypes: ['web_search_20250305'],
    fields: ['speed'],
    betas: ['fast-mode-2026-02-01'],
  };
  const body = { ...plain, speed: 'fast', tools: [search] };
  assert.deepEqual(checkAnthropicRequest(body, 'fast-mode-2026-02-01', exceptions), { ok: true });
  assert.equal(checkAnthropicRequest({ ...body, container: 'c' }, undefined, exceptions).ok, false);
});
