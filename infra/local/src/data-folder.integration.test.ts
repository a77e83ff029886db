import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openDataFolder } from './data-folder.ts';
import { scratchFolder } from './testing/scratch-folder.ts';

const open = (folder: string) => openDataFolder({ LEMNISCATE_DATA: folder }, '/');

test('a new folder and one of an earlier run are taken', (t) => {
  const folder = join(scratchFolder(t), 'new');
  const secret = open(folder).keptSecret('one');
  assert.equal(open(folder).keptSecret('one'), secret);
});

test('a folder with other things is refused and keeps its mode', (t) => {
  const folder = scratchFolder(t);
  chmodSync(folder, 0o777);
  writeFileSync(join(folder, 'thesis.txt'), 'years of work');
  assert.throws(() => open(folder), { code: 'configuration_invalid', message: /holds other things already/ });
  assert.equal(statSync(folder).mode & 0o777, 0o777);
});

test('a file, and a path below a file, are named', (t) => {
  const file = join(scratchFolder(t), 'file');
  writeFileSync(file, '');
  for (const path of [file, join(file, 'below')])
    assert.throws(() => open(path), { code: 'configuration_invalid', message: /is not a folder/ });
});

test("another account's folder is refused", (t) => {
  assert.throws(() => open(foreignFolder(scratchFolder(t))), {
    code: 'configuration_invalid',
    message: /belongs to the account \d+, not to/,
  });
});

/** Root can make one; everybody else finds one of root's. */
function foreignFolder(scratch: string): string {
  if (process.getuid?.() !== 0) return '/usr';
  const folder = join(scratch, 'other');
  mkdirSync(folder);
  chownSync(folder, 12_345, 12_345);
  return folder;
}
