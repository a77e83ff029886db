import assert from 'node:assert/strict';
import { test } from 'node:test';
import { announceBounds, readBounds } from './bounds.ts';

test('bounds come from the variables; an unreadable one is refused by name', () => {
  assert.deepEqual(readBounds({}), {});
  assert.deepEqual(
    readBounds({ LEMNISCATE_SESSION_MAX_ACTIONS: '7', LEMNISCATE_SESSION_MAX_EXTENSIONS: '0' }),
    { maxActions: 7, maxExtensions: 0 },
  );
  for (const value of ['many', '1e3', '-1', '0', ' 5'])
    assert.throws(() => readBounds({ LEMNISCATE_SESSION_MAX_MINUTES: value }), {
      code: 'configuration_invalid',
      message: /LEMNISCATE_SESSION_MAX_MINUTES/,
    });
});

test('only what differs from the usual is announced', () => {
  assert.deepEqual(announceBounds({ maxActions: 150 }), []);
  assert.match(announceBounds({ maxActions: 7 }).join(), /maxActions is 7 instead of 150: tighter/);
  assert.match(announceBounds({ maxMinutes: 90 }).join(), /looser/);
});
