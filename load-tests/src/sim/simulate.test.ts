import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tenantsOf, usualDay } from './day.ts';
import type { DayPlan } from './day.ts';
import { writeReport } from './report.ts';
import { simulateDay } from './simulate.ts';

/** An hour of few servers, in which everything happens. */
const hour: DayPlan = {
  ...usualDay({ sessions: 2_000, servers: 60 }),
  seconds: 3_600,
  tenants: tenantsOf(30, 40, 200),
  zoneLoss: { at: 1_500, forSeconds: 300 },
  resume: { at: 2_400, sessions: 100 },
};

test('a seed gives the same day again, and no session is lost or done twice', () => {
  const day = simulateDay(hour);
  assert.deepEqual(day, simulateDay(hour));
  assert.notDeepEqual(day.minutes, simulateDay({ ...hour, seed: 2 }).minutes);
  assert.equal(day.minutes.length, 60);
  const last = day.minutes.at(-1);
  const inUse = Math.round((last?.utilisation ?? 0) * 240);
  assert.equal(day.opened, day.completed + inUse + (last?.waiting ?? 0));
  assert.equal(day.started, day.completed + inUse + day.lost);
  assert.ok(day.lost > 10);
  // Lease and grace, and the time for which leases are held when a third of the fleet falls silent.
  assert.equal(day.noticedAfter, 80);
  assert.ok(day.minutes.every(({ utilisation }) => utilisation <= 1.34));
});

test('a small tenant does not wait for the herd of a large one', () => {
  const [large, small] = tenantsOf(30, 0, 0).slice(0, 2);
  assert.ok(large !== undefined && small !== undefined);
  const tenants = [
    { ...large, name: 'a', share: 0.01, hourly: 3_000, maxConcurrent: null },
    { ...small, name: 'b', share: 0.99, weight: 1, hourly: 0, maxConcurrent: null },
  ];
  const day = simulateDay({
    ...hour,
    sessions: 3_200,
    servers: 30,
    tenants,
    zoneLoss: { at: 3_599, forSeconds: 1 },
    resume: { at: 3_599, sessions: 0 },
  });
  const [herd, light] = day.waits.map((waits) => waits[Math.floor(waits.length / 2)] ?? 0);
  assert.ok((herd ?? 0) > 600, `the herd waits for itself: ${herd} s`);
  assert.ok((light ?? 0) < 60, `the small one does not: ${light} s`);
});

test('the page has its plots', () => {
  const day = simulateDay(hour);
  const files = writeReport(hour, day);
  assert.match(files['capacity.md'] ?? '', /What saturates first/);
  const capped = hour.tenants.filter(({ maxConcurrent }) => maxConcurrent !== null);
  assert.ok(capped.length > 0);
  assert.match(files['capacity.md'] ?? '', /^\| \w+, with a cap +\| [1-9][\d,]* /m);
  // Each tenant has its row, with all of its sessions that started.
  for (const [index, { name }] of hour.tenants.entries()) {
    const row = (files['capacity/tenants.md'] ?? '')
      .split('\n')
      .find((line) => line.startsWith(`| ${name} `));
    assert.equal(row?.split('|')[5]?.trim(), String(day.waits[index]?.length), name);
  }
  for (const [name, text] of Object.entries(files)) {
    assert.doesNotMatch(text, /NaN|Infinity/, name);
    if (!name.endsWith('.svg')) continue;
    assert.match(text, /<polyline points="[\d., ]+"/, name);
    assert.doesNotMatch(text, /NaN|Infinity/, name);
    assert.ok((files['capacity.md'] ?? '').includes(name), name);
  }
});
