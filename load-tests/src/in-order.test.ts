import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runInOrder, stagesFor, tellEnds } from './in-order.ts';

const plan = { short: false, chaosMinutes: 2, soakMinutes: 3, to: '/pages' };
const stages = stagesFor(plan);

test('the order is bench, sim, chaos, soak, and each is a program that is there', () => {
  assert.deepEqual(
    stages.map(({ name, args }) => [name, ...args].join(' ')),
    [
      'bench --to /pages',
      'sim --to /pages',
      'chaos --minutes 2 --keep --to /pages',
      'soak --minutes 3',
      'soak export export',
    ],
  );
  assert.deepEqual(
    stagesFor({ ...plan, short: true }).map(({ name }) => name),
    stages.map(({ name }) => name),
  );
  for (const { script } of stages) assert.ok(existsSync(join(import.meta.dirname, script)), script);
});

test('each runs when the one before is over, also when that failed, and the failure is told', async () => {
  const seen: string[] = [];
  let clock = 0;
  const ends = await runInOrder(stages, {
    run: async ({ name }) => {
      seen.push(`${name} begins`);
      await Promise.resolve();
      clock += 60_000;
      seen.push(`${name} ends`);
      return name === 'sim' ? 1 : 0;
    },
    now: () => clock,
    signal: new AbortController().signal,
  });
  assert.deepEqual(
    seen,
    stages.flatMap(({ name }) => [`${name} begins`, `${name} ends`]),
  );
  const { lines, good } = tellEnds(ends);
  assert.equal(good, false);
  assert.match(lines[1] ?? '', /^sim +1\.0 min  FAILED, exit code 1$/);
  assert.match(lines[2] ?? '', /^chaos +1\.0 min  good$/);
});

test('after a stop no other begins, and that is no good end', async () => {
  const stop = new AbortController();
  const ends = await runInOrder(stages, {
    run: () => {
      stop.abort();
      return Promise.resolve(0);
    },
    now: () => 0,
    signal: stop.signal,
  });
  assert.deepEqual(
    ends.map(({ ending }) => ending),
    [0, 'not run', 'not run', 'not run', 'not run'],
  );
  assert.equal(tellEnds(ends).good, false);
  assert.equal(tellEnds(ends.slice(0, 1)).good, true);
});

test('a stage that was ended for its time is told as such', () => {
  const { lines, good } = tellEnds([{ name: 'chaos', ending: 'too long', ms: 2_400_000 }]);
  assert.deepEqual(lines, ['chaos          40.0 min  FAILED, was ended: it took too long']);
  assert.equal(good, false);
});
