import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startLoop } from './loop.ts';

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined };

test('a loop never runs twice at once, and a kick while it runs is one more run', async () => {
  let active = 0;
  let most = 0;
  let runs = 0;
  const gates: PromiseWithResolvers<void>[] = [];
  const loop = startLoop({
    name: 'test',
    everyMs: 1_000_000,
    log: { ...quiet, error: () => undefined },
    work: async () => {
      runs += 1;
      active += 1;
      most = Math.max(most, active);
      const gate = Promise.withResolvers<void>();
      gates.push(gate);
      await gate.promise;
      active -= 1;
    },
  });
  for (let kicks = 0; kicks < 5; kicks += 1) loop.kick();
  gates[0]?.resolve();
  await new Promise(setImmediate);
  assert.equal(runs, 2);
  gates[1]?.resolve();
  await new Promise(setImmediate);
  assert.equal(runs, 2);
  assert.equal(most, 1);
  await loop.stop(1_000);
  loop.kick();
  assert.equal(runs, 2);
});

test('a failing run is told once and does not end the loop', async () => {
  const told: string[] = [];
  let runs = 0;
  const loop = startLoop({
    name: 'test',
    everyMs: 1_000_000,
    log: { ...quiet, error: (_record, message) => void told.push(message) },
    work: async () => {
      runs += 1;
      throw new Error('no luck');
    },
  });
  await new Promise(setImmediate);
  loop.kick();
  await new Promise(setImmediate);
  assert.equal(runs, 2);
  assert.equal(told.length, 1);
  await loop.stop(1_000);
});

test('a stop does not wait longer than it is told to', async () => {
  const loop = startLoop({
    name: 'test',
    everyMs: 1_000_000,
    log: { ...quiet, error: () => undefined },
    work: () => Promise.withResolvers<void>().promise,
  });
  await loop.stop(10);
});

test('a loop that rests runs at once when it is idle, and once for all kicks that come too soon', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  let runs = 0;
  const loop = startLoop({
    name: 'rests',
    everyMs: 1_000_000,
    restMs: 200,
    log: { ...quiet, error: () => undefined },
    work: () => {
      runs += 1;
      return Promise.resolve();
    },
  });
  const settled = () => new Promise(setImmediate);
  await settled();
  for (let kicks = 0; kicks < 5; kicks += 1) loop.kick();
  await settled();
  t.mock.timers.tick(199);
  await settled();
  assert.equal(runs, 1);
  t.mock.timers.tick(1);
  await settled();
  assert.equal(runs, 2);
  t.mock.timers.tick(200);
  await settled();
  assert.equal(runs, 2, 'nobody has kicked since');
  loop.kick();
  await settled();
  assert.equal(runs, 3);
  await loop.stop(1_000);
  t.mock.timers.tick(200);
  await settled();
  assert.equal(runs, 3);
});
