import assert from 'node:assert/strict';
import { test } from 'node:test';
import { threadProcessorMs } from '../clock.ts';
import { cloudEventSchema } from './cloud-event.ts';
import {
  eventFilterSchema,
  eventFiltersSchema,
  matchesFilter,
  maxComparisons,
  unmatched,
} from './event-filter.ts';
import type { EventFilter } from './event-filter.ts';

const event = cloudEventSchema.parse({
  specversion: '1.0',
  id: '1',
  source: '/ci',
  type: 'org.example.build.failed',
  subject: 'main',
  priority: 3,
  data: { status: 'failed', job: { name: 'unit', tries: 2 }, list: [1] },
});
const fits = (filter: unknown) => matchesFilter(event, eventFilterSchema.parse(filter));

test('filters compare attributes and members of the data, and combine', () => {
  const yes: EventFilter[] = [
    { exact: { type: 'org.example.build.failed' } },
    { prefix: { type: 'org.example.' } },
    { suffix: { type: '.failed' } },
    { exact: { 'data.job.tries': '2' } },
    { exact: { priority: '3' } },
    { all: [{ exact: { subject: 'main' } }, { exact: { 'data.status': 'failed' } }] },
    { any: [{ exact: { subject: 'other' } }, { exact: { subject: 'main' } }] },
    { not: { exact: { subject: 'other' } } },
    { not: { exact: { 'data.nothing': 'x' } } },
  ];
  for (const filter of yes) assert.ok(fits(filter), JSON.stringify(filter));
  for (const filter of [
    { exact: { type: 'org.example' } },
    { exact: { 'data.list': '1' } },
    { exact: { 'data.job': '[object Object]' } },
    { exact: { 'data.constructor.name': 'Object' } },
    { prefix: { 'data.nothing': '' } },
  ])
    assert.ok(!fits(filter), JSON.stringify(filter));
  assert.deepEqual(unmatched(event, [{ exact: { subject: 'main' } }, { exact: { subject: 'x' } }]), [
    '{"exact":{"subject":"x"}}',
  ]);
});

test('what is no filter is refused', () => {
  let deep: unknown = { exact: { type: 'x' } };
  for (let level = 0; level < 4; level += 1) deep = { not: deep };
  for (const wrong of [
    {},
    { exact: {} },
    { exact: { type: 'a', subject: 'b' } },
    { exact: { 'Data.x': 'a' } },
    { exact: { type: 1 } },
    { all: [] },
    { sql: 'x' },
    { exact: { type: 'a' }, prefix: { type: 'a' } },
    deep,
  ])
    assert.ok(!eventFilterSchema.safeParse(wrong).success, JSON.stringify(wrong));
});

test('a trigger compares a bounded number of times, however its filters are nested', () => {
  const leaf = { exact: { type: 'x' } };
  const of = (count: number) => Array.from({ length: count }, () => leaf);
  const fits = (filters: unknown) => eventFiltersSchema.safeParse(filters);
  assert.ok(fits([{ all: of(20) }, { not: { any: of(20) } }, ...of(10)]).success);
  const wide = Array.from({ length: 20 }, () => ({ any: of(20) }));
  const refused = fits(wide);
  assert.match(refused.error?.issues[0]?.message ?? '', new RegExp(`at most ${maxComparisons} comparisons`));
  const began = threadProcessorMs();
  assert.ok(!fits(Array.from({ length: 20 }, () => ({ all: wide }))).success);
  assert.ok(threadProcessorMs() - began < 2_000);
});

test('what is no CloudEvent is refused', () => {
  const base = { specversion: '1.0', id: '1', source: 's', type: 't' };
  assert.ok(cloudEventSchema.safeParse(base).success);
  for (const wrong of [
    { ...base, specversion: '0.3' },
    { ...base, id: '' },
    { ...base, Upper: 'x' },
    { ...base, data_base64: 'AA==' },
    { ...base, nested: { a: 1 } },
    { ...base, time: 'yesterday' },
    { ...base, datacontenttype: 'text/xml' },
    { ...base, data: 'x'.repeat(70_000) },
  ])
    assert.ok(!cloudEventSchema.safeParse(wrong).success, JSON.stringify(wrong).slice(0, 80));
});
