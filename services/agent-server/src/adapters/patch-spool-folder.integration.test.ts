import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createPatchSpoolFolder } from './patch-spool-folder.ts';

test('kept patches go when they are old or too many, the oldest first', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-unsaved-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const spool = createPatchSpoolFolder(folder);
  assert.deepEqual(await spool.expire({ maxAgeMs: 1000, maxKept: 10 }), [], 'nothing was ever kept');
  mkdirSync(join(folder, 'unsaved'));
  for (const [index, hours] of [0, 1, 2, 50].entries()) {
    const file = join(folder, 'unsaved', `s${index}.1.patch`);
    writeFileSync(file, 'x');
    const at = new Date(Date.now() - hours * 3_600_000);
    utimesSync(file, at, at);
  }
  assert.deepEqual(await spool.expire({ maxAgeMs: 48 * 3_600_000, maxKept: 10 }), ['s3.1.patch']);
  assert.deepEqual(await spool.expire({ maxAgeMs: 48 * 3_600_000, maxKept: 2 }), ['s2.1.patch']);
  assert.deepEqual(readdirSync(join(folder, 'unsaved')).sort(), ['s0.1.patch', 's1.1.patch']);
});
