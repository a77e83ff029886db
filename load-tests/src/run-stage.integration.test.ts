import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '@lemniscate/local/testing/until.ts';
import { runStage } from './run-stage.ts';

const runs = (
  script: string,
  { limitMs = 60_000, graceMs = 60_000, signal = new AbortController().signal } = {},
) => runStage({ args: ['-e', script], limitMs, graceMs, signal });
const forever = 'setInterval(() => {}, 1000);';

test('a stage gives its exit code, and 1 where a signal ends it', async () => {
  assert.equal(await runs('process.exitCode = 7'), 7);
  assert.equal(await runs('process.kill(process.pid, "SIGKILL")'), 1);
});

test('one that takes too long is ended, also when it does not listen', async () => {
  assert.equal(await runs(forever, { limitMs: 500 }), 'too long');
  const deaf = `process.on('SIGTERM', () => {}); ${forever}`;
  assert.equal(await runs(deaf, { limitMs: 500, graceMs: 100 }), 'too long');
});

test('one that is running when all are to stop is asked to end', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-stage-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const began = join(folder, 'began');
  const stop = new AbortController();
  const running = runs(
    `process.on('SIGTERM', () => process.exit(3)); require('fs').writeFileSync('${began}', ''); ${forever}`,
    { signal: stop.signal },
  );
  await until('it runs', () => existsSync(began), 20_000);
  stop.abort();
  assert.equal(await running, 3);
});
