import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkResponsesRequest } from './gateway-openai-responses.ts';
import { checkAnthropicRequest } from './gateway-request.ts';
import { providerTools } from './provider-tools.ts';

const base = { model: 'm', max_tokens: 10 };
const asked = [{ role: 'user', content: 'hi' }];
const cases = [
  ['web_search', 'web_search_20250305', 'web_search_tool_result', undefined],
  ['web_fetch', 'web_fetch_20250910', 'web_fetch_tool_result', 'web-fetch-2025-09-10'],
  [
    'code_execution',
    'code_execution_20250825',
    'bash_code_execution_tool_result',
    'code-execution-2025-08-25',
  ],
  ['mcp', 'mcp_toolset', 'mcp_tool_result', 'mcp-client-2025-11-20'],
] as const;

for (const [family, type, block, beta] of cases)
  test(`${family} is refused unless the policy names it, and then with what it leaves behind`, () => {
    const tools = { ...base, messages: asked, tools: [{ type, name: 'x' }] };
    const later = {
      ...base,
      messages: [
        ...asked,
        {
          role: 'assistant',
          content: [
            { type: 'server_tool_use', id: 'a' },
            { type: block, x: 1 },
          ],
        },
      ],
    };
    const others = providerTools.filter((name) => name !== family);
    for (const body of [tools, later]) {
      assert.equal(checkAnthropicRequest(body, undefined).ok, false);
      assert.deepEqual(checkAnthropicRequest(body, beta, { providerTools: [family] }), { ok: true });
    }
    assert.equal(checkAnthropicRequest(tools, undefined, { providerTools: others }).ok, false);
    assert.equal(checkAnthropicRequest(later, undefined, { providerTools: others }).ok, false);
    if (beta === undefined) return;
    assert.equal(checkAnthropicRequest(tools, beta, { providerTools: others }).ok, false);
  });

test('the other wire: a built-in tool and its item pass with their family alone', () => {
  const body = { model: 'm', input: [{ type: 'web_search_call', id: 'a' }], tools: [{ type: 'web_search' }] };
  assert.equal(checkResponsesRequest(body).ok, false);
  assert.deepEqual(checkResponsesRequest(body, { providerTools: ['web_search'] }), { ok: true });
  assert.equal(checkResponsesRequest(body, { providerTools: ['mcp'] }).ok, false);
});

test('remote MCP servers come with their family alone', () => {
  const body = { ...base, messages: asked, mcp_servers: [{ type: 'url', url: 'https://x.invalid' }] };
  assert.equal(checkAnthropicRequest(body, undefined).ok, false);
  assert.deepEqual(checkAnthropicRequest(body, undefined, { providerTools: ['mcp'] }), { ok: true });
});
