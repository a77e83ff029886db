import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCallIds } from './call-ids.ts';

test('ids stay as they came, are told apart when they come again, and always fit', () => {
  const ids = createCallIds();
  assert.equal(ids.claim('toolu_01'), 'toolu_01');
  assert.equal(ids.claim('toolu_01'), 'toolu_01.2');
  assert.equal(ids.claim('toolu_01'), 'toolu_01.3');
  for (const hostile of ['x'.repeat(500), 'a/b', '', 'é', 'a\nb'])
    assert.match(ids.claim(hostile), /^[0-9a-f]{64}$/);
});
