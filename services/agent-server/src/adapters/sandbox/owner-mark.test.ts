import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readOwnerMark } from './owner-mark.ts';

test('a state folder keeps its mark, and another one has another', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-mark-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const one = readOwnerMark(join(folder, 'a'), 'agent-server-1');
  assert.match(one, /^agent-server-1-[0-9a-f]{12}$/);
  assert.equal(readOwnerMark(join(folder, 'a'), 'agent-server-1'), one);
  assert.notEqual(readOwnerMark(join(folder, 'b'), 'agent-server-1'), one);
});
