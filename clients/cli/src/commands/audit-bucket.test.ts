import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { extendChain, unopened } from '@lemniscate/shared/audit/chain.ts';
import { toCheckpointLine } from '@lemniscate/shared/audit/checkpoint-line.ts';
import type { AuditDraft } from '@lemniscate/shared/audit/entry.ts';
import { objectDigest, toManifestText } from '@lemniscate/shared/audit/segment-manifest.ts';
import { sinkLineSchema, toSinkLine } from '@lemniscate/shared/audit/sink-line.ts';
import { checkpointOf, makeKey, signCheckpoint, treeOf } from '@lemniscate/shared/audit/testing/seal.ts';
import { Command } from 'commander';
import { registerAuditVerify } from './audit-verify.ts';
import type { AuditVerification } from './audit-verify.ts';

const pair = makeKey();
const drafts: AuditDraft[] = [
  { type: 'session.opened', subject: `person:${'a'.repeat(24)}`, body: { policyDigest: 'a'.repeat(64) } },
  ...Array.from({ length: 10 }, (_, call): AuditDraft => ({
    type: 'tool.executed',
    subject: 'srv',
    body: { call: `c${call}`, state: 'done' },
  })),
  { type: 'chain.closed', subject: 'srv', body: {} },
];
const lines = extendChain(unopened('session:s_1'), drafts, '2026-11-29T15:00:00.000Z').entries.map(
  (entry, index) => toSinkLine({ index, entry }),
);
const parsed = lines.map((line) => sinkLineSchema.parse(JSON.parse(line)));
const padded = (number: number): string => String(number).padStart(15, '0');
const note = (size: number, number: number): string =>
  signCheckpoint(checkpointOf(parsed, size, number), pair);

type Objects = Map<string, string>;

/** What the S3 sink writes: segments, and a manifest with each checkpoint that seals some. */
function bucket(...cuts: readonly (readonly [number, number])[]): Objects {
  const objects: Objects = new Map();
  let previous = '';
  for (const [number, [first, end]] of cuts.entries()) {
    const text = lines.slice(first, end).join('');
    const key = `segments/${padded(first)}-${padded(end - 1)}.ndjson`;
    objects.set(key, text);
    const frontier = treeOf(parsed.slice(0, end)).frontier.hashes;
    const checkpoint = { ...checkpointOf(parsed, end, number), note: note(end, number), frontier };
    objects.set(`checkpoints/${padded(number)}.json`, toCheckpointLine(checkpoint));
    const segment = { key, first, last: end - 1, bytes: text.length, sha256: objectDigest(text) };
    const manifest = toManifestText({
      manifest: number,
      previous,
      note: checkpoint.note,
      size: end,
      segments: [segment],
    });
    objects.set(`manifests/${padded(number)}.json`, manifest);
    previous = objectDigest(manifest);
  }
  objects.set(
    'people/a.json',
    JSON.stringify({ person: `person:${'a'.repeat(24)}`, identity: 'ann@example.org' }),
  );
  return objects;
}

async function verify(t: TestContext, objects: Objects): Promise<AuditVerification> {
  const folder = await mkdtemp(join(tmpdir(), 'audit-bucket-'));
  t.after(() => rm(folder, { recursive: true }));
  for (const [key, text] of objects) {
    await mkdir(dirname(join(folder, key)), { recursive: true });
    await writeFile(join(folder, key), text);
  }
  const stdout = new PassThrough();
  const program = new Command().exitOverride();
  registerAuditVerify(program, {
    stdout,
    setExitCode: () => undefined,
    fetchJson: () => Promise.reject(new Error('the fleet was asked')),
  });
  const args = ['audit', 'verify', '--json', '--file', folder, '--key', pair.key.text];
  await program.parseAsync(args, { from: 'user' });
  return JSON.parse(String(stdout.read())) as AuditVerification;
}

test('a copy of a bucket verifies offline with the public key alone', async (t) => {
  const result = await verify(t, bucket([0, 4], [4, 9], [9, 12]));
  assert.deepEqual(result.faults, []);
  assert.deepEqual([result.verified, result.entries, result.sealed?.covered], [true, 12, 12]);
  assert.deepEqual(result.people, [
    { person: `person:${'a'.repeat(24)}`, identity: 'ann@example.org', entries: 1 },
  ]);
});

test('segments that two exporters have cut at different places are one log', async (t) => {
  const result = await verify(t, bucket([0, 6], [4, 9], [9, 12]));
  assert.deepEqual([result.verified, result.entries], [true, 12]);
});

const [second, third] = [`${padded(4)}-${padded(8)}`, `${padded(9)}-${padded(11)}`];
const changes: readonly (readonly [string, string, (objects: Objects) => unknown])[] = [
  ['a segment that is gone', 'segment_missing', (all) => all.delete(`segments/${second}.ndjson`)],
  [
    'a byte of a segment flipped',
    'segment_differs',
    (all) =>
      all.set(`segments/${second}.ndjson`, (all.get(`segments/${second}.ndjson`) ?? '').replace('c5', 'c6')),
  ],
  ['a manifest that is gone', 'manifest_gap', (all) => all.delete(`manifests/${padded(1)}.json`)],
  [
    'a manifest that lists fewer bytes than another one has signed for',
    'manifest_differs',
    (all) =>
      all.set(
        `manifests/${padded(0)}.json`,
        (all.get(`manifests/${padded(0)}.json`) ?? '').replace('"size":4', '"size":3'),
      ),
  ],
  ['a manifest that is none', 'unreadable', (all) => all.set(`manifests/${padded(1)}.json`, '{')],
  ['a checkpoint that is gone', 'checkpoint_gap', (all) => all.delete(`checkpoints/${padded(1)}.json`)],
  [
    'the last segment gone with its manifest',
    'log_cut',
    (all) => [all.delete(`segments/${third}.ndjson`), all.delete(`manifests/${padded(2)}.json`)],
  ],
];
for (const [what, fault, change] of changes)
  test(`found in a copy: ${what}`, async (t) => {
    const objects = bucket([0, 4], [4, 9], [9, 12]);
    change(objects);
    const result = await verify(t, objects);
    assert.deepEqual([result.verified, result.faults[0]?.fault], [false, fault]);
  });

test('a bucket that was rebuilt with manifests and all is found by its checkpoints', async (t) => {
  const objects = bucket([0, 4], [4, 9], [9, 12]);
  const forged = extendChain(
    unopened('session:s_1'),
    drafts.map((draft, place) =>
      place === 5 ? { ...draft, body: { call: 'c4', state: 'errored' } } : draft,
    ),
    '2026-11-29T15:00:00.000Z',
  ).entries.map((entry, index) => toSinkLine({ index, entry }));
  let previous = '';
  for (const [number, [first, end]] of [
    [0, 4],
    [4, 9],
    [9, 12],
  ].entries()) {
    const text = forged.slice(first, end).join('');
    const key = `segments/${padded(first ?? 0)}-${padded((end ?? 0) - 1)}.ndjson`;
    objects.set(key, text);
    const manifest = JSON.parse(objects.get(`manifests/${padded(number)}.json`) ?? '') as {
      segments: object[];
    };
    const segment = { ...manifest.segments[0], bytes: text.length, sha256: objectDigest(text) };
    const rebuilt = `${JSON.stringify({ ...manifest, previous, segments: [segment] })}\n`;
    objects.set(`manifests/${padded(number)}.json`, rebuilt);
    previous = objectDigest(rebuilt);
  }
  const result = await verify(t, objects);
  assert.deepEqual([result.verified, result.faults[0]?.fault], [false, 'root_differs']);
});

test('a folder that is no copy is told', async (t) => {
  await assert.rejects(verify(t, new Map([['other/x.json', '{}']])), { code: 'not_found' });
});
