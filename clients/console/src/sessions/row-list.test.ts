import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SessionRow } from '@lemniscate/shared/api/session-row.ts';
import { mergeRows, noFilter } from './row-list.ts';

function row(id: string, more: Partial<SessionRow> = {}): SessionRow {
  return {
    id,
    project: 'local',
    state: 'running',
    phase: 'working',
    reason: null,
    instruction: `do ${id}`,
    model: 'm',
    surface: 'api',
    openedBy: 'local:me',
    server: null,
    attempt: 1,
    createdAt: '2026-11-29T10:00:00.000Z',
    runningAt: null,
    endedAt: null,
    totalCostUsd: '0',
    priced: true,
    waiting: 0,
    diff: null,
    ...more,
  };
}

const live = (...rows: readonly SessionRow[]) => new Map(rows.map((one) => [one.id, one]));
const ids = (rows: readonly SessionRow[]) => rows.map(({ id }) => id);

test('a session that is born stands on top, and one that changed is replaced where it stands', () => {
  const merged = mergeRows(
    [row('s_3'), row('s_1')],
    live(row('s_4'), row('s_1', { state: 'completed' })),
    noFilter,
    false,
  );
  assert.deepEqual(ids(merged), ['s_4', 's_3', 's_1']);
  assert.equal(merged[2]?.state, 'completed');
});

test('a session that no longer matches leaves the list', () => {
  const filter = { ...noFilter, states: ['running'] as const };
  assert.deepEqual(ids(mergeRows([row('s_1')], live(row('s_1', { state: 'failed' })), filter, false)), []);
});

test('a live session of a page that is not read yet does not jump the queue', () => {
  assert.deepEqual(ids(mergeRows([row('s_9')], live(row('s_1')), noFilter, true)), ['s_9']);
});
