import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { extendChain, unopened } from '@lemniscate/shared/audit/chain.ts';
import type { AuditDraft } from '@lemniscate/shared/audit/entry.ts';
import { toSinkLine } from '@lemniscate/shared/audit/sink-line.ts';

const bin = fileURLToPath(new URL('../../bin/lemniscate.mjs', import.meta.url));

test('the terminal verifies a sink’s file in a process of its own, without a fleet, and exits 1 on a broken one', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'audit-verify-'));
  t.after(() => rm(folder, { recursive: true }));
  const drafts: AuditDraft[] = [
    { type: 'session.opened', subject: 'ann', body: { policyDigest: 'a'.repeat(64) } },
    ...Array.from({ length: 2_000 }, (_, call): AuditDraft => {
      return { type: 'tool.executed', subject: 'srv', body: { call: `c${call}`, state: 'done' } };
    }),
  ];
  const { entries } = extendChain(unopened('session:s'), drafts, '2026-11-29T15:00:00.000Z');
  const text = entries.map((entry, index) => toSinkLine({ index, entry })).join('');
  const path = join(folder, 'audit.ndjson');
  const verify = async (content: string) => {
    await writeFile(path, content);
    const { status, stdout } = spawnSync(process.execPath, [bin, 'audit', 'verify', '--file', path], {
      env: { LEMNISCATE_DATA: folder },
      encoding: 'utf8',
      timeout: 30_000,
    });
    return { status, stdout };
  };
  assert.deepEqual(await verify(text), { status: 0, stdout: 'verified: 2001 entries in 1 chain\n' });
  const broken = await verify(text.replace('"call":"c1234"', '"call":"c1235"'));
  assert.equal(broken.status, 1);
  assert.match(broken.stdout, /^BROKEN session:s entry 1236: /);
});
