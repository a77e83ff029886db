import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import { toolNames } from '@lemniscate/shared/tools/catalogue.ts';
import { createRequest } from './request.ts';
import { assistantMessage, toolAnswers, userText } from './transcript.ts';

const order = { model: 'm', systemPrompt: 'Be good.', tools: [...toolNames] } as unknown as SessionOrder;

test('the tools are told as strict schemas', () => {
  const request = JSON.parse(createRequest(order, [userText('Go.')]));
  assert.deepEqual(
    request.tools.map((tool: { name: string }) => tool.name),
    toolNames,
  );
  for (const { input_schema } of request.tools) {
    assert.equal(input_schema.type, 'object');
    assert.equal(input_schema.additionalProperties, false);
    assert.equal(input_schema.$schema, undefined);
  }
  const command = request.tools.find((tool: { name: string }) => tool.name === 'run_command');
  assert.deepEqual(command.input_schema.required, ['command']);
});

test('at most four marks for the provider’s cache, on the system prompt and the last two user messages', () => {
  const answer = assistantMessage({
    stopReason: 'tool_use',
    blocks: [{ kind: 'tool_use', id: 'a', name: 'x', argumentsText: '{}', whole: true }],
  });
  assert.ok(answer !== null);
  const told = toolAnswers([{ id: 'a', isError: false, text: '' }]);
  const text = createRequest(order, [userText('Go.'), answer, told, answer, told]);
  assert.equal(text.split('cache_control').length - 1, 3);
  const request = JSON.parse(text);
  assert.ok(request.system[0].cache_control);
  assert.equal(request.messages[0].content[0].cache_control, undefined);
  assert.ok(request.messages[2].content[0].cache_control && request.messages[4].content[0].cache_control);
});

test('the transcript holds an object where the model wrote none, and never empty text', () => {
  const spoken = assistantMessage({
    stopReason: 'tool_use',
    blocks: [
      { kind: 'text', text: ' ' },
      { kind: 'tool_use', id: 'a', name: 'x', argumentsText: '{"broken', whole: true },
    ],
  });
  assert.deepEqual(spoken?.content, [{ type: 'tool_use', id: 'a', name: 'x', input: {} }]);
  assert.equal(assistantMessage({ stopReason: 'end_turn', blocks: [] }), null);
  assert.deepEqual(toolAnswers([{ id: 'a', isError: true, text: '' }]).content, [
    {
      type: 'tool_result',
      tool_use_id: 'a',
      content: [{ type: 'text', text: '(no output)' }],
      is_error: true,
    },
  ]);
});
