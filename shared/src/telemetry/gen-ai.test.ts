import assert from 'node:assert/strict';
import { test } from 'node:test';
import { executeTool, usageAttributes } from './gen-ai.ts';
import { formatTraceparent, parseTraceparent, traceFields } from './trace-context.ts';

test('a tool of nobody’s catalogue has no name in a span', () => {
  assert.equal(executeTool('s', 'run_command').name, 'execute_tool run_command');
  const foreign = executeTool('s', 'sk-live-secret');
  assert.equal(foreign.name, 'execute_tool other');
  assert.ok(!JSON.stringify(foreign).includes('sk-live'));
});

test('cached tokens are part of the input, as the conventions have it', () => {
  const tokens = {
    inputTokens: 10,
    outputTokens: 5,
    cacheReadTokens: 100,
    cacheWriteTokens: 20,
    cacheWrite1hTokens: 0,
  };
  assert.equal(usageAttributes(tokens)['gen_ai.usage.input_tokens'], 130);
  assert.equal(usageAttributes(tokens)['gen_ai.usage.output_tokens'], 5);
});

test('only a whole traceparent is one', () => {
  const good = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;
  const parsed = parseTraceparent(good);
  assert.ok(parsed !== null);
  assert.equal(formatTraceparent(parsed), good);
  assert.deepEqual(traceFields(good), { trace_id: '1'.repeat(32), span_id: '2'.repeat(16) });
  for (const bad of [
    undefined,
    null,
    7,
    '',
    `${good}x`,
    `01${good.slice(2)}`,
    `00-${'0'.repeat(32)}-${'2'.repeat(16)}-01`,
    `00-${'1'.repeat(32)}-${'0'.repeat(16)}-01`,
    good.toUpperCase().replace('00-1', '00-A'),
  ])
    assert.equal(parseTraceparent(bad), null, String(bad));
  assert.deepEqual(traceFields('PLANTED'), {});
});
