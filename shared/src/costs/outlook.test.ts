import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findAnomalies, forecastMonth } from './outlook.ts';

const day = (date: number): string => `2026-11-${String(date).padStart(2, '0')}`;
const even = (from: number, to: number, usd: string) =>
  Array.from({ length: to - from + 1 }, (_, index) => ({ day: day(from + index), usd }));

test('the month goes on as its last whole days went', () => {
  // Ten days of 3 dollars, today 1 so far: 31 spent, 2 still today, 19 days of 3 after it.
  const forecast = forecastMonth([...even(1, 10, '3'), { day: day(11), usd: '1' }], day(11));
  assert.deepEqual(forecast, {
    month: '2026-11',
    spentUsd: '31',
    dailyUsd: '3',
    basedOnDays: 10,
    forecastUsd: '90',
  });
});

test('days without costs count, days before the first cost do not', () => {
  const { dailyUsd, basedOnDays } = forecastMonth([{ day: day(1), usd: '10' }], day(6));
  assert.deepEqual([dailyUsd, basedOnDays], ['2', 5]);
  assert.equal(forecastMonth([], day(6)).forecastUsd, '0');
});

test('a day far above its weeks is told, an even or growing one is not', () => {
  const weeks = even(1, 14, '5');
  assert.deepEqual(findAnomalies([...weeks, { day: day(15), usd: '40' }]), [
    { day: day(15), totalUsd: '40', expectedUsd: '5', deviations: 140 },
  ]);
  assert.deepEqual(findAnomalies([...weeks, { day: day(15), usd: '9' }]), []);
  assert.deepEqual(findAnomalies(even(1, 3, '5').concat({ day: day(4), usd: '500' })), []);
});
