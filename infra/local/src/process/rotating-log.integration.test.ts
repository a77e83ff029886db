import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratchFolder } from '../testing/scratch-folder.ts';
import { openRotatingLog } from './rotating-log.ts';

test('a log never grows past two files of its bound', (t) => {
  const folder = scratchFolder(t);
  const log = openRotatingLog(join(folder, 'service.log'), 1_000);
  for (let line = 0; line < 500; line += 1) log.write(`line ${line}\n`);
  log.close();
  assert.deepEqual(readdirSync(folder).sort(), ['service.log', 'service.log.1']);
  for (const file of readdirSync(folder)) assert.ok(statSync(join(folder, file)).size <= 1_020);
  assert.equal(log.lastLines().at(-1), 'line 499');
  assert.equal(log.lastLines().length, 20);
});
