import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { benchPage, mergeReports, ratiosToKept } from './bench-page.ts';
import type { BenchReport } from './benchmark.ts';
import { benchmarks } from './registry.ts';

const machine = { cpu: 'a processor', cores: 2, memoryGiB: 8, node: 'v24' };
const today = { day: '2026-11-30', commit: 'abc1234', versions: 'pg 8' };
const report = (name: string, value: number, ran = today): BenchReport => ({
  name,
  machine,
  ran,
  results: [
    { name: 'rate', unit: 'a second', value },
    { name: 'way', unit: 'ms', n: 10, p50: value * 2, p99: 9, max: 10 },
  ],
  goals: [{ name: 'against a bare | pipe', goal: 1.5, value: 1.2, unit: 'times', met: true }],
});

test('a run is laid over the kept one and compared by ratios', () => {
  const kept = [report('a', 10), report('b', 20)];
  assert.deepEqual(
    mergeReports(kept, [report('b', 30), report('c', 1)]).map(({ name, results }) => [name, results[0]]),
    [
      ['a', kept[0]?.results[0]],
      ['b', report('b', 30).results[0]],
      ['c', report('c', 1).results[0]],
    ],
  );
  assert.deepEqual(ratiosToKept([report('b', 30)], kept), [
    { what: 'b: rate', ratio: 1.5 },
    { what: 'b: way', ratio: 1.5 },
  ]);
});

test('the page has machine, promises and figures, and tells what has no kept run', () => {
  const page = benchPage([report('a', 10.123456)], ['a', 'b', 'c']);
  assert.match(page, /\| a \| 2026-11-30 \| abc1234 \| a processor, 2 cores, 8 GiB, Node v24 \| pg 8 \|/);
  assert.match(page, /\| a \| against a bare \\\| pipe \| 1\.5 times \| 1\.2 \| yes \|/);
  assert.match(page, /\| a \| way \| p50 20\.25, p99 9, max 10 ms \(n 10\) \|/);
  assert.match(page, /No run is kept of b, c/);
});

test('what a run of one benchmark leaves of the others has its own day and source', () => {
  const before = { day: '2026-11-29', commit: 'fff0000', versions: 'pg 7' };
  const merged = mergeReports([report('a', 1, before), report('b', 1, before)], [report('b', 2)]);
  const page = benchPage(merged, ['a', 'b']);
  assert.match(page, /\| a \| 2026-11-29 \| fff0000 \|.*\| pg 7 \|/);
  assert.match(page, /\| b \| 2026-11-30 \| abc1234 \|.*\| pg 8 \|/);
  assert.doesNotMatch(page, /No run is kept/);
  const { ran: _ran, ...untold } = report('a', 1);
  assert.match(benchPage([untold], ['a']), /\| a \| – \| – \|/);
});

test('the page that is kept is the one of the kept figures, each with its day and source', () => {
  const folder = join(import.meta.dirname, '../../docs/operations');
  const kept = JSON.parse(readFileSync(join(folder, 'benchmarks.json'), 'utf8')) as BenchReport[];
  const names = benchmarks.map(({ name }) => name);
  assert.deepEqual(
    kept.filter(({ name, ran }) => !names.includes(name) || !/^\d{4}-\d\d-\d\d$/.test(ran?.day ?? '')),
    [],
  );
  assert.equal(
    readFileSync(join(folder, 'benchmarks.md'), 'utf8'),
    benchPage(kept, names),
    'write it again: npm run bench -- --page',
  );
});
