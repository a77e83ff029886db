import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundCalls, bornLine, createCrashPoint, seedOfLife } from './crash-points.ts';

const pointOf = (todo: string[], chance = 0, random = () => 1) => {
  const told: string[] = [];
  let deaths = 0;
  const point = createCrashPoint(() => ({ todo, chance }), {
    random,
    tell: (line) => told.push(line),
    die: () => (deaths += 1),
  });
  return { told, point, deaths: () => deaths };
};

test('a point is told once, and dies where it is asked to', () => {
  const { point, told, deaths } = pointOf(['b']);
  point('a');
  point('a');
  assert.equal(deaths(), 0);
  point('b');
  assert.equal(deaths(), 1);
  assert.deepEqual(told, ['seen a', 'seen b', 'crashed b']);
  const chance = pointOf([], 0.5, () => 0.4);
  chance.point('x');
  assert.equal(chance.deaths(), 1);
});

test('a plan that changes counts for the next hit', () => {
  const todo: string[] = [];
  const { point, deaths } = pointOf(todo);
  point('a');
  assert.equal(deaths(), 0);
  todo.push('a');
  point('a');
  assert.equal(deaths(), 1);
});

test('calls are wrapped, in their order, and what they throw passes', async () => {
  const { point, told } = pointOf([]);
  const port = aroundCalls(
    point,
    'redis',
    {
      add: async (text: string) => `${text}!`,
      fail: () => Promise.reject(new Error('no')),
      near: (by: number) => by + 1,
      other: () => 'as it was',
    },
    { add: true, fail: true, near: true, other: 'it reaches nothing' },
  );
  assert.equal(await port.add('x'), 'x!');
  await assert.rejects(port.fail(), /no/);
  assert.equal(port.near(1), 2);
  assert.equal(port.other(), 'as it was');
  assert.deepEqual(told, [
    'seen redis.add:before',
    'seen redis.add:after',
    'seen redis.fail:before',
    'seen redis.near:before',
    'seen redis.near:after',
  ]);
});

test('each life draws other numbers, and the same ones in each run', () => {
  const lives = (log: string[]) =>
    log.map((_, index) => seedOfLife(31, `${log.slice(0, index).join('\n')}\n`));
  const first = lives([bornLine, 'seen a', bornLine, 'crashed a', bornLine]);
  assert.deepEqual(first, lives([bornLine, 'seen a', bornLine, 'crashed a', bornLine]));
  assert.deepEqual(new Set(first).size, 3, 'three lives, and what they saw in between changes nothing');
  assert.notEqual(seedOfLife(31, ''), seedOfLife(32, ''));
});
