import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createMirrorCache } from './mirror-cache.ts';

test('mirrors go when they are old, too many or too large, the longest unused first, and never in use', async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'lemniscate-mirrors-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const names = ['oldest', 'older', 'recent', 'newest'];
  for (const [index, name] of names.entries()) {
    mkdirSync(join(root, name));
    writeFileSync(join(root, name, 'pack'), Buffer.alloc(1024 * 1024));
    const hours = [100, 3, 2, 1][index] ?? 0;
    const at = new Date(Date.now() - hours * 3_600_000);
    utimesSync(join(root, name), at, at);
  }
  const bounds = { maxMirrors: 10, maxBytes: 1024 ** 3, maxAgeMs: 50 * 3_600_000 };
  const cache = (change: Partial<typeof bounds>) => createMirrorCache(root, { ...bounds, ...change });
  assert.deepEqual(await cache({}).tidy(), ['oldest']);
  const held = cache({ maxMirrors: 2 });
  const release = held.hold('older');
  assert.deepEqual(await held.tidy(), ['recent'], 'one in use is passed over');
  release();
  assert.deepEqual(await cache({ maxBytes: 1.5 * 1024 * 1024 }).tidy(), ['older']);
  assert.deepEqual(readdirSync(root), ['newest']);
});
