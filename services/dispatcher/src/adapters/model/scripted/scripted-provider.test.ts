import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Agent } from 'undici';
import { systemClock } from '@lemniscate/shared/clock.ts';
import { secret } from '@lemniscate/shared/config/secret.ts';
import type { ModelEndpoint } from '../../../application/ports/model-provider.ts';
import { describeModelProvider } from '../model-provider.contract.ts';
import { createModelProviders } from '../registry.ts';
import { loadScripts } from './load-scripts.ts';
import { parseScript } from './script.ts';
import { createScriptedProvider, scriptedModel } from './scripted-provider.ts';
import { countPrompt, tokensOf } from './token-count.ts';
import { readMessage, readText } from './testing/read-message.ts';
import type { WireRequest } from './conversation.ts';

const scripts = await loadScripts();
let count = 0;
const provider = createScriptedProvider({ newId: () => `n${(count += 1)}`, scripts });
const ask = async (body: Readonly<Record<string, unknown>>) =>
  readText(
    await provider.send({
      endpoint: 'anthropic-messages',
      body: { model: scriptedModel, max_tokens: 100, ...body },
      headers: {},
      signal: new AbortController().signal,
    }),
  );
const tools = ['list_files', 'read_file', 'edit_file', 'run_command'].map((name) => ({
  name,
  input_schema: {},
}));

describeModelProvider('scripted', () => ({ provider, model: scriptedModel }));

test('a request that cannot be read is refused in the API’s form', async () => {
  const body = JSON.parse(await ask({ messages: 'hello' })) as { error: { type: string; message: string } };
  assert.equal(body.error.type, 'invalid_request_error');
  assert.match(body.error.message, /^messages/);
});

test('hosted tools are called by the name under which they are offered', async () => {
  const hosted = tools.map((tool) => ({ ...tool, name: `mcp__lemniscate__${tool.name}` }));
  const message = readMessage(
    await ask({ tools: hosted, messages: [{ role: 'user', content: 'Fix the failing test' }] }),
  );
  assert.equal(message.content.at(-1)?.['name'], 'mcp__lemniscate__list_files');
});

test('a step that was refused ends the turn', async () => {
  const message = readMessage(
    await ask({
      tools,
      messages: [
        { role: 'user', content: 'Fix the failing test' },
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 't1', name: 'list_files', input: { path: '.' } }],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 't1', is_error: true, content: 'Rejected by the reviewer.' },
          ],
        },
      ],
    }),
  );
  assert.equal(message.stop_reason, 'end_turn');
  assert.match(String(message.content[0]?.['text']), /was not allowed/);
});

test('prompt tokens are counted from the bytes and fall into disjoint buckets', () => {
  const request: WireRequest = {
    model: scriptedModel,
    max_tokens: 1,
    system: 'a'.repeat(400),
    messages: [
      { role: 'user', content: 'u'.repeat(40) },
      { role: 'assistant', content: 'a'.repeat(40) },
      { role: 'user', content: 'v'.repeat(80) },
    ],
  };
  const counted = countPrompt(request);
  assert.equal(counted.input, tokensOf([request.messages[2]]));
  assert.equal(counted.cacheWrite, tokensOf(request.messages[1]));
  assert.ok(counted.cacheRead >= 100);
  assert.deepEqual(countPrompt(request), counted);
});

test('a script with an unknown fact or member is refused by name', () => {
  const rules = 'rules: [{ name: r, when: { weather: sunny } }]';
  assert.throws(() => parseScript('x', `name: x\nabout: y\n${rules}`), {
    code: 'configuration_invalid',
    message: /script x .*weather/,
  });
  assert.throws(() => parseScript('x', 'name: x\nabout: y\nrules: [{ name: r, tell: no }]'), /tell/);
});

test('the registry offers the providers that have what they need', () => {
  const deps = {
    newId: () => 'n',
    clock: systemClock,
    delay: async () => undefined,
    agent: new Agent(),
    scripts,
    anthropicBaseUrl: 'https://api.anthropic.com',
    openAiBaseUrl: 'https://api.openai.com',
    configured: [],
  };
  const without = createModelProviders(deps);
  assert.deepEqual(without.names, ['scripted']);
  assert.equal(without.providerOf('claude-sonnet-5'), undefined);
  const withKey = createModelProviders({ ...deps, anthropicApiKey: secret('k') });
  assert.equal(withKey.providerOf('claude-sonnet-5')?.name, 'anthropic');
  assert.equal(withKey.providerOf('scripted-1')?.name, 'scripted');
  assert.equal(withKey.providerOf('gpt-5'), undefined);
  assert.equal(
    createModelProviders({ ...deps, openAiApiKey: secret('k') }).providerOf('gpt-5')?.name,
    'openai',
  );
  const house = {
    name: 'house',
    api: 'openai' as const,
    baseUrl: 'http://10.0.0.7:8000',
    keys: [],
    models: ['llama-70b', 'claude-*'],
  };
  const own = createModelProviders({ ...deps, anthropicApiKey: secret('k'), configured: [house] });
  // What the operator names comes first: a corporate proxy may serve a vendor's models.
  assert.equal(own.providerOf('claude-sonnet-5')?.name, 'house');
  assert.equal(own.providerOf('llama-70b')?.endpoints.has('openai-chat'), true);
});

test('an instruction that names one command has just that command run', async () => {
  const message = readMessage(
    await ask({ tools, messages: [{ role: 'user', content: 'Run `git status --short`.' }] }),
  );
  const call = message.content.at(-1);
  assert.equal(call?.['name'], 'run_command');
  assert.deepEqual(call?.['input'], { command: 'git status --short' });
});

test('a tool call and its result in the OpenAI forms lead to the same next step', async () => {
  const send = async (endpoint: ModelEndpoint, body: object): Promise<Record<string, unknown>> =>
    JSON.parse(
      await readText(
        await provider.send({
          endpoint,
          body: { model: scriptedModel, ...body },
          headers: {},
          signal: new AbortController().signal,
        }),
      ),
    ) as Record<string, unknown>;
  const prompt = { role: 'user', content: 'Run `git status --short`.' };
  const functions = tools.map(({ name }) => ({ type: 'function', name, parameters: {} }));
  const { output } = await send('openai-responses', { input: [prompt], tools: functions });
  const call = (output as { type: string; name: string; arguments: string; call_id: string }[]).at(-1);
  assert.deepEqual([call?.name, call?.arguments], ['run_command', '{"command":"git status --short"}']);
  const done = { type: 'function_call_output', call_id: call?.call_id, output: 'exit code 0' };
  const next = await send('openai-responses', { input: [prompt, call, done], tools: functions });
  assert.deepEqual(
    (next['output'] as { type: string }[]).map(({ type }) => type),
    ['message'],
  );
  const chat = await send('openai-chat', {
    messages: [prompt],
    tools: functions.map(({ name }) => ({ type: 'function', function: { name } })),
  });
  const [choice] = chat['choices'] as {
    message: { tool_calls: { function: object }[] };
    finish_reason: string;
  }[];
  assert.equal(choice?.finish_reason, 'tool_calls');
  assert.deepEqual(choice.message.tool_calls[0]?.function, {
    name: 'run_command',
    arguments: '{"command":"git status --short"}',
  });
});
