import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratchFolder } from './testing/scratch-folder.ts';

test('the sample has one failing test, and one changed operator mends it', (t) => {
  const folder = scratchFolder(t);
  cpSync(join(import.meta.dirname, '../sample'), folder, { recursive: true });
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const count = () => {
    const { stdout } = spawnSync(process.execPath, ['--test', '--test-reporter=tap'], {
      cwd: folder,
      env,
      encoding: 'utf8',
    });
    return /^# pass (\d+)\n# fail (\d+)$/m.exec(stdout)?.slice(1).map(Number);
  };
  const faulty = join(folder, 'src/discount.js');
  assert.deepEqual(count(), [10, 1]);
  writeFileSync(faulty, readFileSync(faulty, 'utf8').replace('quantity > from', 'quantity >= from'));
  assert.deepEqual(count(), [11, 0]);
});
