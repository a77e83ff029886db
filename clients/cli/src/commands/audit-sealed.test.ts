import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { extendChain, unopened } from '@lemniscate/shared/audit/chain.ts';
import { toCheckpointLine } from '@lemniscate/shared/audit/checkpoint-line.ts';
import type { AuditDraft } from '@lemniscate/shared/audit/entry.ts';
import { sinkLineSchema, toSinkLine } from '@lemniscate/shared/audit/sink-line.ts';
import { checkpointOf, makeKey, signCheckpoint, treeOf } from '@lemniscate/shared/audit/testing/seal.ts';
import { Command } from 'commander';
import { registerAuditVerify } from './audit-verify.ts';
import type { AuditVerification } from './audit-verify.ts';

const pair = makeKey();
const session = (id: string, call: string) =>
  extendChain(
    unopened(`session:${id}`),
    [
      { type: 'session.opened', subject: 'ann', body: { policyDigest: 'a'.repeat(64) } },
      { type: 'tool.executed', subject: 'srv', body: { call, state: 'done' } },
      { type: 'chain.closed', subject: 'srv', body: {} },
    ] satisfies AuditDraft[],
    '2026-11-29T15:00:00.000Z',
  ).entries;
const linesOf = (...calls: string[]): string[] =>
  calls
    .flatMap((call, place) => session(`s_${place}`, call))
    .map((entry, index) => toSinkLine({ index, entry }));
const parsed = (lines: readonly string[]) => lines.map((line) => sinkLineSchema.parse(JSON.parse(line)));

const lines = linesOf('1', '2', '3');
const checkpointLine = (size: number, number: number): string => {
  const checkpoint = checkpointOf(parsed(lines), size, number);
  const { frontier } = treeOf(parsed(lines).slice(0, size));
  return toCheckpointLine({
    ...checkpoint,
    note: signCheckpoint(checkpoint, pair),
    frontier: frontier.hashes,
  });
};
const checkpoints = [0, 4, 9].map(checkpointLine);

async function verify(t: TestContext, log: readonly string[], signed: readonly string[], anchor?: string) {
  const folder = await mkdtemp(join(tmpdir(), 'audit-sealed-'));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, 'audit.ndjson');
  await writeFile(file, log.join(''));
  await writeFile(`${file}.checkpoints`, signed.join(''));
  const from = join(folder, 'anchor');
  if (anchor !== undefined) await writeFile(from, anchor);
  const stdout = new PassThrough();
  const program = new Command().exitOverride();
  registerAuditVerify(program, {
    stdout,
    setExitCode: () => undefined,
    fetchJson: () => Promise.reject(new Error('the fleet was asked')),
  });
  const more = anchor === undefined ? [] : ['--from', from];
  await program.parseAsync(['audit', 'verify', '--json', '--file', file, '--key', pair.key.text, ...more], {
    from: 'user',
  });
  const result = JSON.parse(String(stdout.read())) as AuditVerification;
  return { fault: result.faults[0]?.fault ?? null, entries: result.entries, covered: result.sealed?.covered };
}

test('an export verifies offline with the public key alone', async (t) => {
  assert.deepEqual(await verify(t, lines, checkpoints), { fault: null, entries: 9, covered: 9 });
});

test('from an anchor only what is behind it is walked; held against a bare note everything is', async (t) => {
  assert.deepEqual(await verify(t, lines, checkpoints, checkpoints[1]), {
    fault: null,
    entries: 5,
    covered: 9,
  });
  const note = signCheckpoint(checkpointOf(parsed(lines), 4, 1), pair);
  assert.deepEqual(await verify(t, lines, checkpoints, note), { fault: null, entries: 9, covered: 9 });
});

test('a rebuilt, cut or set back export is found', async (t) => {
  const rebuilt = linesOf('1', 'x', '3');
  assert.equal((await verify(t, rebuilt, checkpoints)).fault, 'root_differs');
  assert.equal((await verify(t, lines.slice(0, 6), checkpoints)).fault, 'log_cut');
  assert.equal((await verify(t, lines.slice(0, 6), checkpoints.slice(0, 2))).fault, null);
  assert.equal(
    (await verify(t, lines.slice(0, 6), checkpoints.slice(0, 2), checkpoints[2])).fault,
    'log_cut',
  );
  assert.equal((await verify(t, lines, checkpoints.toSpliced(1, 1))).fault, 'checkpoint_gap');
});
