import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isDeeperThan, someText } from './json-walk.ts';

const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

describe('walking JSON', () => {
  test('a text is found wherever it is, names included', () => {
    const isX = (text: string): boolean => text === 'x';
    for (const value of ['x', ['a', 'x'], { a: { b: ['x'] } }, { a: [{ x: 1 }] }])
      assert.ok(someText(value, isX), JSON.stringify(value));
    for (const value of [null, 1, 'y', [], { a: [{ b: 'y' }] }])
      assert.ok(!someText(value, isX), JSON.stringify(value));
  });

  test('depth is counted in levels', () => {
    assert.ok(!isDeeperThan('text', 0));
    assert.ok(isDeeperThan([], 0));
    assert.ok(!isDeeperThan(nested(4), 4));
    assert.ok(isDeeperThan(nested(5), 4));
    assert.ok(isDeeperThan({ a: { b: [{ c: 1 }] } }, 3));
  });

  test('nesting that overflows a recursive walk is walked', () => {
    assert.ok(!someText(nested(200_000), () => true));
    assert.ok(isDeeperThan(nested(200_000), 64));
  });
});
