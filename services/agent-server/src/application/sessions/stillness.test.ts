import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createStillness } from './stillness.ts';

const told = (): void => undefined;
const log = { debug: told, info: told, warn: told, error: told };

/** A sandbox whose answers come when the test says so. */
function sandboxOf() {
  const asked: { what: 'freeze' | 'thaw'; settle: PromiseWithResolvers<void> }[] = [];
  const ended = Promise.withResolvers<'destroyed'>();
  const ask = (what: 'freeze' | 'thaw') => (): Promise<void> => {
    const settle = Promise.withResolvers<void>();
    asked.push({ what, settle });
    return settle.promise;
  };
  const answer = async (how: 'done' | 'lost' = 'done'): Promise<void> => {
    const last = asked.at(-1);
    assert.ok(last);
    if (how === 'done') last.settle.resolve();
    else last.settle.reject(new Error('lost'));
    await new Promise(setImmediate);
  };
  return {
    freeze: ask('freeze'),
    thaw: ask('thaw'),
    ended: ended.promise,
    end: ended.resolve,
    asked,
    answer,
  };
}

test('processes stand still while the lease does not hold: asked once, again where it failed, never two at a time', async () => {
  let valid = true;
  const stillness = createStillness({ valid: () => valid }, log);
  const sandbox = sandboxOf();
  const asked = () => sandbox.asked.map(({ what }) => what);
  valid = false;
  stillness.look();
  valid = true;
  stillness.bind(sandbox);
  stillness.look();
  assert.deepEqual(asked(), []);
  valid = false;
  stillness.look();
  stillness.look();
  valid = true;
  stillness.look();
  assert.deepEqual(asked(), ['freeze']);
  await sandbox.answer('lost');
  stillness.look();
  assert.deepEqual(asked(), ['freeze'], 'the lease holds again, and nothing has stopped');
  valid = false;
  stillness.look();
  await sandbox.answer();
  stillness.look();
  valid = true;
  stillness.look();
  await sandbox.answer();
  stillness.look();
  assert.deepEqual(asked(), ['freeze', 'freeze', 'thaw']);
  sandbox.end('destroyed');
  await new Promise(setImmediate);
  valid = false;
  stillness.look();
  assert.equal(asked().length, 3);
});
