import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createUnwind } from './unwind.ts';

const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

test('undo runs in reverse, past a failure, and once', async () => {
  const done: string[] = [];
  const unwind = createUnwind(log);
  for (const step of ['first', 'second', 'third']) {
    unwind.push(step, async () => {
      done.push(step);
      if (step === 'second') throw new Error('cannot');
    });
  }
  await Promise.all([unwind.run(), unwind.run()]);
  await unwind.run();
  assert.deepEqual(done, ['third', 'second', 'first']);
});
