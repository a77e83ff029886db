import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { test } from 'node:test';
import type { Log } from '../application/ports/log.ts';
import { createLeakCheck } from './leak-check.ts';

const minute = 60_000;

/** A driver whose looks end when the test says so, and what was logged. */
function stage() {
  const looks: PromiseWithResolvers<string[]>[] = [];
  const errors: [object, string][] = [];
  const log: Log = {
    debug: () => undefined,
    info: () => undefined,
    warn: () => undefined,
    error: (facts, text) => void errors.push([facts, text]),
  };
  const recover = () => {
    const look = Promise.withResolvers<string[]>();
    looks.push(look);
    return look.promise;
  };
  return { check: createLeakCheck({ recover }, log), looks, errors };
}

test('each minute it destroys what nobody holds, says so aloud, and goes on after a fault', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { check, looks, errors } = stage();
  check.start();
  assert.equal(looks.length, 0);
  t.mock.timers.tick(minute);
  looks[0]?.resolve(['sbx_left']);
  await setImmediate();
  assert.deepEqual(errors, [[{ sandboxes: ['sbx_left'] }, 'sandboxes that nobody held were destroyed']]);
  t.mock.timers.tick(minute);
  const fault = new Error('the engine is away');
  looks[1]?.reject(fault);
  await setImmediate();
  assert.deepEqual(errors[1], [{ err: fault }, 'the check for leaked sandboxes failed']);
  t.mock.timers.tick(minute);
  looks[2]?.resolve([]);
  await check.stop();
  assert.equal(errors.length, 2, 'nothing found is nothing said');
  t.mock.timers.tick(10 * minute);
  assert.equal(looks.length, 3, 'after the stop nobody looks');
});

test('a look that takes long is waited for, by the next one and by the stop', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { check, looks } = stage();
  check.start();
  t.mock.timers.tick(5 * minute);
  assert.equal(looks.length, 1);
  let stopped = false;
  const stopping = check.stop().then(() => (stopped = true));
  await setImmediate();
  assert.equal(stopped, false);
  looks[0]?.resolve([]);
  await stopping;
});
