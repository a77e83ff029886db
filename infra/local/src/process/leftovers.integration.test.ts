import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { scratchFolder } from '../testing/scratch-folder.ts';
import { endLeftovers, recordProcess } from './leftovers.ts';
import { startTimeOf } from './start-time.ts';

function sleeper(test: TestContext): number {
  const child = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
  test.after(() => child.kill('SIGKILL'));
  return child.pid ?? assert.fail('no pid');
}

test('what an earlier run recorded is ended and forgotten', async (t) => {
  const folder = scratchFolder(t);
  const pid = sleeper(t);
  recordProcess(folder, 'sleeper', pid);
  assert.deepEqual(await endLeftovers(folder), ['sleeper']);
  assert.equal(startTimeOf(pid), undefined);
  assert.deepEqual(readdirSync(folder), []);
  assert.deepEqual(await endLeftovers(folder), []);
});

test('another process that got the pid meanwhile is left alone', async (t) => {
  const folder = scratchFolder(t);
  const pid = sleeper(t);
  writeFileSync(join(folder, 'sleeper.pid'), JSON.stringify({ pid, startTime: '1' }));
  assert.deepEqual(await endLeftovers(folder), []);
  assert.notEqual(startTimeOf(pid), undefined);
  assert.deepEqual(readdirSync(folder), []);
});

test('a record that was cut short names nobody', async (t) => {
  const folder = scratchFolder(t);
  writeFileSync(join(folder, 'cut.pid'), '{"pid": 1');
  writeFileSync(join(folder, 'odd.pid'), '{"pid": -1, "startTime": "2"}');
  assert.deepEqual(await endLeftovers(folder), []);
  assert.deepEqual(readdirSync(folder), []);
});
