import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { lingerVariable } from './outcome-reporter.ts';
import { runTests } from './run-tests.ts';
import type { TestRun } from './run-tests.ts';
import type { TestOutcome } from './test-outcome.ts';

// inside a test Node marks the environment, and a runner started with that mark runs nothing
const { NODE_TEST_CONTEXT: _, ...env } = process.env;

async function run(file: string, bounds: Partial<TestRun> = {}) {
  const outcomes: TestOutcome[] = [];
  const end = await runTests(
    {
      files: [join(import.meta.dirname, 'fixtures/run', file)],
      testTimeoutMs: 30_000,
      wholeTimeoutMs: 60_000,
      stopped: new AbortController().signal,
      cwd: import.meta.dirname,
      env,
      ...bounds,
    },
    (outcome) => outcomes.push(outcome),
  );
  return { end, outcomes };
}

test('every outcome is told with its names, and what tests print is not taken for one', async () => {
  const { end, outcomes } = await run('outcomes.ts');
  assert.deepEqual(outcomes.map(({ outcome, path }) => `${outcome} ${path.join(' › ')}`).sort(), [
    'failed a suite › fails inside',
    'passed a suite › passes inside',
    'passed has parts',
    'passed has parts › first part',
    'passed passes',
    'skipped is a todo',
    'skipped is skipped',
  ]);
  assert.match(outcomes.find(({ outcome }) => outcome === 'failed')?.error ?? '', /2 !== 3/);
  assert.deepEqual(
    outcomes.flatMap(({ reason }) => reason ?? []),
    ['kvm: no /dev/kvm', 'todo: later'],
  );
  assert.equal(end.exitCode, 1);
  assert.match(end.output, /printed by a test file/);
});

test('a file that cannot be loaded does not exit 0, and what it said is kept', async () => {
  const { end, outcomes } = await run('broken.ts');
  assert.notEqual(end.exitCode, 0);
  assert.match(end.output + outcomes.map(({ error }) => error).join(), /this file cannot be loaded/);
});

test('a test that does not end fails by its bound, and its process by the bound of the whole', async () => {
  const { end, outcomes } = await run('endless.ts', { testTimeoutMs: 100, wholeTimeoutMs: 1_500 });
  assert.deepEqual(
    outcomes.map(({ outcome }) => outcome),
    ['failed'],
  );
  assert.equal(end.timedOut, true);
});

test('after a preparation that failed, what it had begun is undone and the process ends', async () => {
  const { end, outcomes } = await run('failing-before.ts');
  assert.equal(end.timedOut, false);
  assert.equal(end.exitCode, 1);
  assert.ok(outcomes.some(({ error }) => error?.includes('this preparation fails')));
  assert.ok(outcomes.some(({ error }) => error?.includes('this undoing fails')));
});

test('a process that something keeps open after its last test says so and ends', async () => {
  const { end, outcomes } = await run('open-end.ts', { env: { ...env, [lingerVariable]: '500' } });
  assert.deepEqual([end.timedOut, end.exitCode], [false, 1]);
  assert.deepEqual(
    outcomes.map(({ outcome, path }) => `${outcome}: ${path.join()}`),
    ['passed: leaves a server open', 'failed: the process did not end within 0.5 s of its last test'],
  );
  assert.match(outcomes[1]?.error ?? '', /still open: .*TCPServerWrap/);
});

test('a process that is busy with its cleaning up is let finish', async () => {
  const { end, outcomes } = await run('slow-end.ts', { env: { ...env, [lingerVariable]: '500' } });
  assert.deepEqual([end.timedOut, end.exitCode], [false, 0]);
  assert.equal(outcomes.length, 1);
});

test('a stop ends the run', async () => {
  const stopping = new AbortController();
  const running = run('endless.ts', { stopped: stopping.signal });
  setImmediate(() => stopping.abort());
  const { end } = await running;
  assert.equal(end.signal, 'SIGKILL');
});
