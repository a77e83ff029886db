import assert from 'node:assert/strict';
import { test } from 'node:test';
import { threadProcessorMs } from '@lemniscate/shared/clock.ts';
import type { JsonObject } from '@lemniscate/shared/json.ts';
import { faultOfArguments, faultOfSchema } from './check-arguments.ts';

const schema: JsonObject = {
  type: 'object',
  properties: {
    id: { type: 'string', maxLength: 8 },
    pattern: { type: 'integer', minimum: 1 },
    labels: { type: 'array', items: { $ref: '#/$defs/label' }, maxItems: 2 },
  },
  required: ['id'],
  additionalProperties: false,
  $defs: { label: { enum: ['bug', 'idea'] } },
};

test('arguments are held against the schema', () => {
  assert.equal(faultOfSchema(schema), null);
  for (const args of [{ id: 'a' }, { id: 'a', pattern: 2, labels: ['bug'] }])
    assert.equal(faultOfArguments(schema, args), null);
  for (const args of [
    {},
    { id: 7 },
    { id: 'far too long' },
    { id: 'a', other: 1 },
    { id: 'a', pattern: 0 },
    { id: 'a', labels: ['other'] },
    { id: 'a', labels: ['bug', 'bug', 'bug'] },
    { id: 'a', pattern: 'x' },
  ])
    assert.match(faultOfArguments(schema, args) ?? '', /#/, JSON.stringify(args));
});

test('references that branch end the judgement, in the schema and in what is sent', () => {
  const began = threadProcessorMs();
  const levels = Array.from({ length: 40 }, (_, level) => [
    `a${level + 1}`,
    { allOf: [{ $ref: `#/$defs/a${level}` }, { $ref: `#/$defs/a${level}` }] },
  ]);
  const $defs = { a0: { type: 'object' }, ...(Object.fromEntries(levels) as JsonObject) };
  const wide: JsonObject = { type: 'object', $defs, allOf: [{ $ref: '#/$defs/a40' }] };
  assert.match(faultOfSchema(wide) ?? '', /branch too often/);
  const node = {
    type: 'object',
    properties: { x: { anyOf: [{ $ref: '#/$defs/n' }, { $ref: '#/$defs/n' }] } },
  };
  const tree: JsonObject = { type: 'object', $defs: { n: node }, properties: { x: { $ref: '#/$defs/n' } } };
  assert.equal(faultOfSchema(tree), null);
  const nested = (depth: number): JsonObject =>
    Array.from({ length: depth }).reduce<JsonObject>((inner) => ({ x: inner }), {});
  assert.equal(faultOfArguments(tree, nested(8)), null);
  assert.match(faultOfArguments(tree, nested(60)) ?? '', /branch too often/);
  const around: JsonObject = { type: 'object', allOf: [{ $ref: '#' }] };
  assert.match(faultOfSchema(around) ?? '', /cannot be read/);
  assert.ok(threadProcessorMs() - began < 5_000, `${threadProcessorMs() - began} ms`);
});

test('a stranger’s regular expression is never run', () => {
  const hostile: JsonObject = {
    type: 'object',
    properties: { text: { type: 'string', pattern: '^(a+)+$' } },
    patternProperties: { '^(x+)+$': { type: 'string' } },
    additionalProperties: false,
  };
  const began = threadProcessorMs();
  assert.equal(faultOfArguments(hostile, { text: `${'a'.repeat(40)}!`, [`${'x'.repeat(40)}!`]: 'y' }), null);
  assert.ok(threadProcessorMs() - began < 500);
});

test('schemas that cannot be used are told so, and never throw', () => {
  let deep: JsonObject = { type: 'object' };
  for (let level = 0; level < 40; level += 1) deep = { type: 'object', properties: { a: deep } };
  const bad: JsonObject[] = [
    { type: 'string' },
    deep,
    { type: 'object', description: 'x'.repeat(70_000) },
    { type: 'object', $ref: '#/nowhere' },
    { type: 'object', $ref: '#' },
  ];
  for (const one of bad) assert.notEqual(faultOfSchema(one), null, JSON.stringify(one).slice(0, 80));
  assert.match(faultOfArguments({ type: 'object', $ref: '#' }, {}) ?? '', /cannot be read/);
  assert.match(faultOfArguments(schema, { id: 'x'.repeat(300_000) }) ?? '', /longer/);
});
