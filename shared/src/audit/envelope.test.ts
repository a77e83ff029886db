import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEnvelope } from './envelope.ts';

const whole = { v: 1, type: 'tool.executed', at: '2026-02-28T23:59:59.999Z', subject: 'srv', body: {} };

test('an envelope has its five members, and may have attempt and server', () => {
  assert.equal(readEnvelope(whole), whole);
  assert.notEqual(readEnvelope({ ...whole, attempt: 2, server: 'one' }), null);
  assert.notEqual(readEnvelope({ ...whole, at: '2028-02-29T00:00:00.000Z' }), null);
});

test('what is missing, more or otherwise makes it none', () => {
  const { body: _body, ...without } = whole;
  const others = [
    without,
    { ...without, attempt: 1 },
    { ...whole, more: 1 },
    { ...whole, v: 2 },
    { ...whole, type: '' },
    { ...whole, subject: 7 },
    { ...whole, attempt: 1.5 },
    { ...whole, server: null },
    { ...whole, body: [] },
    { ...whole, body: null },
    JSON.parse('{"__proto__":1}'),
    [],
    null,
    'x',
  ];
  for (const other of others) assert.equal(readEnvelope(other as never), null, JSON.stringify(other));
  for (const at of [
    '2026-02-29T00:00:00.000Z',
    '2026-04-31T00:00:00.000Z',
    '2026-01-01T24:00:00.000Z',
    '2026-01-01T00:00:00Z',
  ])
    assert.equal(readEnvelope({ ...whole, at }), null, at);
});
