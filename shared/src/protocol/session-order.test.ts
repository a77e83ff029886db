import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { toolNames } from '../tools/catalogue.ts';
import { sessionOrderSchema } from './session-order.ts';

const { tools } = sessionOrderSchema.shape;

test('a tool that this version does not know is left out of an order', () => {
  const [known] = toolNames;
  assert.deepEqual(z.decode(tools, [known, 'tool_of_tomorrow']), [known]);
});

test('an order goes both ways: servers that fetch theirs get it as an answer', () => {
  assert.deepEqual(z.encode(tools, [...toolNames]), [...toolNames]);
});
