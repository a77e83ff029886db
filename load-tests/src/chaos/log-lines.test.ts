import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { countErrors } from './log-lines.ts';

test('errors of all logs are counted by what they say, the most frequent first', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-logs-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const line = (level: number, msg: string) => JSON.stringify({ level, msg });
  writeFileSync(join(folder, 'a.log'), [line(50, 'one'), line(40, 'a warning'), line(60, 'two')].join('\n'));
  const named = (level: string) => JSON.stringify({ level, message: 'one' });
  const others = [named('error'), named('info'), 'LOG: ready', '{"level":50,"ms'];
  writeFileSync(join(folder, 'b.log'), [line(50, 'two'), line(50, 'two'), ...others].join('\n'));
  writeFileSync(join(folder, 'c.txt'), line(50, 'no log'));
  assert.deepEqual(Object.entries(countErrors(folder)), [
    ['two', 3],
    ['one', 2],
  ]);
});
