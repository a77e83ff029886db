import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { test } from 'node:test';
import { z } from 'zod';
import { scratchFolder } from '../testing/scratch-folder.ts';
import { npmStart } from './npm-start.ts';
import { assertNothingRuns } from './test-fleet.ts';

const report = z.looseObject({
  sessionId: z.string(),
  state: z.literal('completed'),
  audit: z.looseObject({ verified: z.literal(true) }),
  timingsMs: z.record(z.string(), z.number()),
});

test('npm start -- --once --json mends the sample, prints one object, and leaves nothing', async (t) => {
  const scratch = scratchFolder(t);
  chmodSync(scratch, 0o755);
  const started = npmStart(scratch, ['--once', '--json']);
  assert.equal(await started.exitCode, 0, await started.stderr);
  const [object = ''] = /^\{.*\}$/m.exec(await started.stdout) ?? [];
  const { timingsMs } = report.parse(JSON.parse(object));
  assert.ok((timingsMs['setup'] ?? 0) > 0);
  const told = await started.stderr;
  for (const line of [
    /scripted/i,
    /^\+.*quantity >= fromQuantity/m,
    /^cost +\$\d/m,
    /^audit +\d+ entries, verified$/m,
  ])
    assert.match(told, line);
  await assertNothingRuns(scratch);
});

test('what npm start does not know is told with how it is used, before anything is set up', async (t) => {
  const started = npmStart(scratchFolder(t), ['--everything']);
  assert.equal(await started.exitCode, 2);
  assert.match(await started.stderr, /--everything[^]*usage: npm start/);
});
