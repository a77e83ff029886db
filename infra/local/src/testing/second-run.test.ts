import assert from 'node:assert/strict';
import { test } from 'node:test';
import { filesToRunAgain, settle } from './second-run.ts';
import type { FileRun } from './second-run.ts';

const run = (file: string, ...outcomes: ('passed' | 'failed' | 'skipped')[]): FileRun => ({
  file,
  outcomes: outcomes.map((outcome, index) => ({ outcome, path: [`${file} ${index}`], durationMs: 1 })),
});

test('what failed is run again, unless much failed', () => {
  const failing = ['a', 'b', 'c', 'd'].map((file) => run(file, 'passed', 'failed'));
  assert.deepEqual(filesToRunAgain([run('right', 'passed', 'skipped')]), []);
  assert.deepEqual(filesToRunAgain([run('right', 'passed'), ...failing.slice(0, 3)]), ['a', 'b', 'c']);
  assert.deepEqual(filesToRunAgain(failing), []);
});

test('a file that passes alone counts as passed, and what failed before stays named', () => {
  const settled = settle(run('a', 'passed', 'failed'), run('a', 'passed', 'passed'));
  assert.deepEqual(
    settled.outcomes.map(({ outcome }) => outcome),
    ['passed', 'passed'],
  );
  assert.deepEqual(
    settled.unsteady.map(({ path }) => path),
    [['a 1']],
  );
});

test('a file that fails again, or tells nothing, has failed', () => {
  const first = run('a', 'failed', 'passed');
  assert.deepEqual(settle(first, run('a', 'passed', 'failed')).unsteady, []);
  assert.equal(settle(first, run('a', 'passed', 'failed')).outcomes[1]?.outcome, 'failed');
  assert.deepEqual(settle(first, run('a')), { outcomes: first.outcomes, unsteady: [] });
  assert.deepEqual(settle(first, undefined), { outcomes: first.outcomes, unsteady: [] });
});
