import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closingLine, countIn, emptyTally, errorStart, refuseSkips, skipKey } from './tally.ts';
import type { TestOutcome } from './test-outcome.ts';

const outcome = (kind: TestOutcome['outcome'], reason?: string): TestOutcome => ({
  outcome: kind,
  path: ['a test'],
  durationMs: 1,
  ...(reason === undefined ? {} : { reason }),
});
const tallyOf = (...outcomes: TestOutcome[]) => outcomes.reduce(countIn, emptyTally);

test('outcomes are counted', () => {
  const tally = tallyOf(
    outcome('passed'),
    outcome('passed'),
    outcome('failed'),
    outcome('skipped', 'kvm: none'),
  );
  assert.equal(
    closingLine(tally.passed, tally.failed.length, tally.skipped.length),
    '2 passed, 1 failed, 1 skipped',
  );
});

test('a skip is named by the key before the colon', () => {
  assert.equal(skipKey('docker-engine: no engine answers'), 'docker-engine');
  assert.equal(skipKey('no engine answers'), undefined);
  assert.equal(skipKey('Not a key: at all'), undefined);
  assert.equal(skipKey(undefined), undefined);
});

test('in CI a skip that no list names is a failure that says so', () => {
  const tally = tallyOf(
    outcome('skipped', 'kvm: no /dev/kvm'),
    outcome('skipped', 'moon: it is new'),
    outcome('skipped', 'toString: inherited'),
    outcome('skipped'),
  );
  const refused = refuseSkips(tally, { kvm: 'rare' });
  assert.deepEqual(
    refused.skipped.map(({ reason }) => reason),
    ['kvm: no /dev/kvm'],
  );
  assert.equal(refused.failed.length, 3);
  assert.match(refused.failed[0]?.error ?? '', /moon: it is new.*allowed-skips\.json/);
});

test('the list at the end shows the start of an error, and says where it is cut', () => {
  assert.equal(
    errorStart('AssertionError: 1 is not 2\n    at a test'),
    'AssertionError: 1 is not 2\n    at a test',
  );
  const long = Array.from({ length: 30 }, (_, line) => `line ${line}`).join('\n');
  assert.match(errorStart(long), /^line 0\n[^]*line 19\n\[…\]$/);
  assert.ok(errorStart('x'.repeat(100_000)).length < 4_000);
});
