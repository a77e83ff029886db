import assert from 'node:assert/strict';
import { test } from 'node:test';
import { probeTurn } from './probe-turn.ts';
import type { ProbedBefore } from './probe-turn.ts';

const well: ProbedBefore = {
  status: { protocol: 1, draining: false },
  silent_ms: 500,
  probed_ms: 4_000,
  drained: false,
  listed: true,
  start_failures: 0,
  last_failure: null,
  excluded: false,
  answer_ms: 4,
  probe_failures: 0,
  probe_failure: null,
  clock_ahead_ms: 0,
};

test('a server that is well and whose heartbeats come is asked seldom', () => {
  assert.equal(probeTurn(well), null);
  assert.equal(probeTurn({ ...well, probed_ms: 10_001 }), 'answering');
});

test('one that has something to come back from, or does not speak by itself, is asked at each look', () => {
  const now: readonly Partial<ProbedBefore>[] = [
    { probed_ms: null },
    { status: null, silent_ms: null },
    { probed_ms: 2_000, silent_ms: 2_000 },
    { probed_ms: 9_000, silent_ms: 5_001 },
    { answer_ms: 3_000 },
    { clock_ahead_ms: 60_000 },
    { excluded: true, start_failures: 3 },
  ];
  for (const change of now)
    assert.equal(probeTurn({ ...well, ...change }), 'answering', JSON.stringify(change));
});

test('one that did not answer, or is silent, is asked apart', () => {
  assert.equal(probeTurn({ ...well, probe_failures: 1 }), 'doubtful');
  assert.equal(probeTurn({ ...well, silent_ms: 7_001, probed_ms: 9_000 }), 'doubtful');
});
