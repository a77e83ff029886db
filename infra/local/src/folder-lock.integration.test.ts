import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDataFolder } from './data-folder.ts';
import { lockFolder } from './folder-lock.ts';
import { scratchFolder } from './testing/scratch-folder.ts';

test('a data folder has one user at a time, and the second is told who', async (t) => {
  const data = openDataFolder({}, scratchFolder(t));
  const other = openDataFolder({}, scratchFolder(t));
  const lock = await lockFolder(data);
  await assert.rejects(lockFolder(data), {
    code: 'conflict',
    message: new RegExp(`process ${process.pid}.*${data.root}.*LEMNISCATE_DATA`),
  });
  await (await lockFolder(other)).release();
  await lock.release();
  await (await lockFolder(data)).release();
});
