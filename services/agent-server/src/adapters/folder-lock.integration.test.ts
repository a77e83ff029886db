import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { lockFolder } from './folder-lock.ts';

test('a folder has one holder, by whatever path it is named', async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'lemniscate-lock-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const folder = join(root, 'state');
  mkdirSync(folder);
  symlinkSync(folder, join(root, 'other-name'));
  const lock = await lockFolder(folder);
  await assert.rejects(lockFolder(join(root, 'other-name')), { code: 'configuration_invalid' });
  await (await lockFolder(root)).release();
  await lock.release();
  await (await lockFolder(folder)).release();
});
