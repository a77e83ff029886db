import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { runChaos } from './run-chaos.ts';

test('a short storm over a whole fleet breaks no promise', { timeout: 400_000 }, async () => {
  const report = await runChaos({
    seed: 4,
    minutes: 0.4,
    perSecond: 3,
    withRealServer: false,
    exhaustive: false,
    projectRoot: join(import.meta.dirname, '../../..'),
    environment: process.env,
    say: () => undefined,
  });
  assert.deepEqual(report.violations, [], `seed ${report.seed}; all that is known is in ${report.folder}`);
  assert.equal(report.asks.unanswered, 0);
  assert.deepEqual(report.asks.refused, {});
  assert.ok(report.deathsAtPoints > 0, 'nobody died at a crash point');
  assert.ok(report.sessions > 20, `only ${report.sessions} sessions`);
  assert.ok(Object.keys(report.strikes).length > 3);
});
