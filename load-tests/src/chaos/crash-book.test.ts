import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { crashPlanSchema } from '@lemniscate/shared/crash-points.ts';
import { openCrashBook } from './crash-book.ts';

const dispatchers = ['one', 'two', 'three'];

function open(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-book-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const parts = dispatchers.map((name) => ({ name, kind: 'dispatcher' as const }));
  const book = openCrashBook({ folder, parts, seed: 1, chance: 0.1 });
  return {
    book,
    tell: (part: string, ...lines: string[]) =>
      appendFileSync(join(folder, `${part}.points`), lines.map((line) => `${line}\n`).join('')),
    seed: (part: string) => crashPlanSchema.parse(JSON.parse(readFileSync(book.planOf(part), 'utf8'))).seed,
    todo: (part: string) => crashPlanSchema.parse(JSON.parse(readFileSync(book.planOf(part), 'utf8'))).todo,
  };
}
const points = (count: number) => Array.from({ length: count }, (_, index) => `p${100 + index}`);

test('two of three share the points that nobody has died at, and the third is spared', (t) => {
  const { book, tell, todo } = open(t);
  tell('three', ...points(20).map((point) => `seen ${point}`));
  book.write();
  assert.deepEqual(dispatchers.flatMap(todo), [], 'nobody dies before it begins');
  book.begin();
  assert.deepEqual(todo('one'), []);
  assert.deepEqual([...todo('two'), ...todo('three')].toSorted(), points(20));
  tell('two', 'crashed p100', 'crashed p100', 'crashed p101');
  book.write();
  assert.deepEqual([...todo('two'), ...todo('three')].toSorted(), points(20).slice(2));
  const { left, deaths } = book.report().dispatcher;
  assert.deepEqual([left.length, deaths], [18, 3]);
  book.end();
  assert.deepEqual(dispatchers.flatMap(todo), []);
});

test('the last few points are everybody’s who may die', (t) => {
  const { book, tell, todo } = open(t);
  tell('one', 'seen a', 'seen b');
  book.begin();
  assert.deepEqual(dispatchers.map(todo), [[], ['a', 'b'], ['a', 'b']]);
});

test('a death that is planned is known when it has come', (t) => {
  const { book, tell, todo } = open(t);
  book.plan('one', 'a');
  assert.deepEqual(todo('one'), ['a']);
  assert.equal(book.hasDied('dispatcher', 'a'), false);
  tell('one', 'seen a');
  assert.equal(book.hasDied('dispatcher', 'a'), false);
  tell('one', 'crashed a');
  assert.equal(book.hasDied('dispatcher', 'a'), true);
});

test('a part has a seed of its own, which does not depend on when it is read', (t) => {
  const { book, seed } = open(t);
  book.write();
  const first = dispatchers.map(seed);
  assert.equal(new Set(first).size, dispatchers.length);
  book.begin();
  book.write();
  assert.deepEqual(dispatchers.map(seed), first);
  book.plan('one', 'a');
  assert.equal(seed('one'), first[0]);
});
