import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countAsks } from './asks.ts';
import type { HistoryEvent } from './history.ts';

const asked = (key: string): HistoryEvent => ({ what: 'asked', key, seed: 1, project: 'p' });

test('every ask is counted once, as what became of it', () => {
  const asks = countAsks([
    ...['a', 'b', 'c', 'd'].map(asked),
    { what: 'accepted', key: 'a', id: 's_1' },
    { what: 'accepted', key: 'a', id: 's_1' },
    { what: 'refused', key: 'b', code: 'backlog_full' },
    // One of two twins was refused: the session is there.
    { what: 'refused', key: 'c', code: 'rate_limited' },
    { what: 'accepted', key: 'c', id: 's_2' },
    { what: 'unanswered', key: 'd', asked: 'session' },
  ]);
  assert.deepEqual(asks, { asked: 4, accepted: 2, refused: { backlog_full: 1 }, unanswered: 1 });
});
