import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { forkWasRefused, kernelLog } from './kernel-log.ts';

const id = '06b5423552666e6c38265626ce6521f9ba937088067b8fb28aa2d6a95358d789';
const refusal = `6,812,51243332470,-;cgroup: fork rejected by pids controller in /docker/${id}\n`;

test('a refused fork is told of the container whose group it was, and of no other', () => {
  const log = ['6,1,0,-;Linux version 6.1\n', refusal];
  assert.equal(forkWasRefused(id, log), true);
  assert.equal(forkWasRefused(id.replace('06', '07'), log), false);
  assert.equal(forkWasRefused(id, [`6,2,0,-;docker0: port of ${id} entered\n`]), false);
});

test('a log that is not there says nothing, and one that ends is read to its end', () => {
  assert.deepEqual([...kernelLog('/nonexistent/kmsg')], []);
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-kmsg-'));
  writeFileSync(join(folder, 'kmsg'), refusal);
  assert.deepEqual([...kernelLog(join(folder, 'kmsg'))], [refusal]);
  rmSync(folder, { recursive: true });
});
