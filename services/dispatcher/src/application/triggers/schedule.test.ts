import assert from 'node:assert/strict';
import { test } from 'node:test';
import { threadProcessorMs } from '@lemniscate/shared/clock.ts';
import { mostMadeUp, nextSlot, nextSlots, slotsToFire } from './schedule.ts';

const at = (text: string): Date => new Date(text);
const texts = (dates: readonly Date[]): string[] => dates.map((date) => date.toISOString());
const berlin = (pattern: string) => ({ pattern, timeZone: 'Europe/Berlin' });

test('times follow the clock of their zone', () => {
  assert.equal(
    nextSlot(berlin('0 9 * * *'), at('2026-01-15T07:59:00Z'))?.toISOString(),
    '2026-01-15T08:00:00.000Z',
  );
  assert.equal(
    nextSlot(berlin('0 9 * * *'), at('2026-07-15T06:00:00Z'))?.toISOString(),
    '2026-07-15T07:00:00.000Z',
  );
  assert.equal(nextSlot({ pattern: '0 0 30 2 *', timeZone: 'UTC' }, at('2026-01-01T00:00:00Z')), null);
});

test('a time that the change to summer leaves out runs after the gap, once', () => {
  const days = nextSlots(berlin('30 2 * * *'), at('2026-03-28T12:00:00Z'), 2);
  assert.deepEqual(texts(days), ['2026-03-29T01:00:00.000Z', '2026-03-30T00:30:00.000Z']);
});

test('a time that the change to winter brings twice runs once; every half hour runs in both hours', () => {
  const days = nextSlots(berlin('30 2 * * *'), at('2026-10-24T12:00:00Z'), 2);
  assert.deepEqual(texts(days), ['2026-10-25T00:30:00.000Z', '2026-10-26T01:30:00.000Z']);
  const often = nextSlots(berlin('*/30 * * * *'), at('2026-10-24T23:59:00Z'), 5);
  assert.deepEqual(
    texts(often).map((text) => text.slice(11, 16)),
    ['00:00', '00:30', '01:00', '01:30', '02:00'],
  );
});

const daily = (misfire: 'skip' | 'once' | 'all') => ({
  kind: 'cron' as const,
  pattern: '0 9 * * *',
  timeZone: 'UTC',
  misfire,
});

test('what was missed is left out, made up for once, or made up for', () => {
  const due = at('2026-01-01T09:00:00Z');
  const late = at('2026-01-03T12:00:00Z');
  assert.deepEqual(texts(slotsToFire(daily('skip'), due, late).slots), []);
  assert.deepEqual(texts(slotsToFire(daily('once'), due, late).slots), ['2026-01-03T09:00:00.000Z']);
  assert.deepEqual(texts(slotsToFire(daily('all'), due, late).slots), [
    '2026-01-01T09:00:00.000Z',
    '2026-01-02T09:00:00.000Z',
    '2026-01-03T09:00:00.000Z',
  ]);
  assert.equal(slotsToFire(daily('all'), due, late).next?.toISOString(), '2026-01-04T09:00:00.000Z');
});

test('a time that is seen a moment late is no missed one', () => {
  for (const misfire of ['skip', 'once', 'all'] as const)
    assert.deepEqual(
      texts(slotsToFire(daily(misfire), at('2026-01-01T09:00:00Z'), at('2026-01-01T09:00:00.400Z')).slots),
      ['2026-01-01T09:00:00.000Z'],
    );
  const exact = at('2026-01-01T09:00:00Z');
  assert.equal(slotsToFire(daily('skip'), exact, exact).slots.length, 1);
});

test('a year of missed minutes is made up for by a bounded number, quickly', () => {
  const began = threadProcessorMs();
  const minutely = { ...daily('all'), pattern: '* * * * *' };
  const { slots } = slotsToFire(minutely, at('2025-01-01T00:00:00Z'), at('2026-01-01T00:00:30Z'));
  assert.equal(slots.length, mostMadeUp);
  assert.equal(slots.at(-1)?.toISOString(), '2026-01-01T00:00:00.000Z');
  assert.ok(threadProcessorMs() - began < 2_000);
});

test('what is no pattern is told', () => {
  for (const pattern of ['every day', '* * * * * *', '61 * * * *', '* * * *'])
    assert.throws(
      () => nextSlot({ pattern, timeZone: 'UTC' }, new Date()),
      { code: 'request_invalid' },
      pattern,
    );
});
