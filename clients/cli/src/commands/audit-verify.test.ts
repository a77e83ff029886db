import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { extendChain, unopened } from '@lemniscate/shared/audit/chain.ts';
import { toHex } from '@lemniscate/shared/audit/digest.ts';
import type { AuditDraft, ChainedEntry } from '@lemniscate/shared/audit/entry.ts';
import { toSinkLine } from '@lemniscate/shared/audit/sink-line.ts';
import { toStored } from '@lemniscate/shared/audit/stored-entry.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { Command } from 'commander';
import { registerAuditVerify } from './audit-verify.ts';
import type { AuditVerification } from './audit-verify.ts';

const at = '2026-11-29T15:00:00.000Z';
const opening: AuditDraft = {
  type: 'session.opened',
  subject: 'ann',
  body: { policyDigest: 'a'.repeat(64) },
};
const call = (id: string): AuditDraft => ({
  type: 'tool.executed',
  subject: 'srv',
  body: { call: id, state: 'done' },
});
const closing: AuditDraft = { type: 'chain.closed', subject: 'srv', body: {} };
const chainOf = (chain: string, ...calls: string[]): ChainedEntry[] =>
  extendChain(unopened(chain), [opening, ...calls.map(call), closing], at).entries;

const [a, b] = [chainOf('session:s_a', '1', '2', '3'), chainOf('session:s_b', '1')];
const sound: readonly ChainedEntry[][] = [a, b];
const file = (entries: readonly ChainedEntry[]): string =>
  entries.map((entry, index) => toSinkLine({ index, entry })).join('');

/** The API of a fleet that holds these chains; `heads` may say something else than the entries do. */
function fleet(chains: readonly ChainedEntry[][], heads: readonly ChainedEntry[][] = chains) {
  const rows = heads.map((entries) => {
    const last = entries.at(-1) ?? assert.fail();
    return {
      chain: last.chain,
      seq: last.seq,
      digest: toHex(last.digest),
      closed: last.type === 'chain.closed',
      openedAt: at,
    };
  });
  return (path: string): unknown => {
    const url = new URL(path, 'http://fleet');
    const after = url.searchParams.get('after') ?? '';
    if (url.pathname === '/v1/audit/chains') {
      // one chain a page
      const [next, more] = rows.filter(({ chain }) => chain > after);
      return { chains: next === undefined ? [] : [next], nextAfter: more === undefined ? null : next?.chain };
    }
    const chain = decodeURIComponent(url.pathname.split('/')[4] ?? '');
    const head = rows.find((row) => row.chain === chain);
    if (head === undefined) throw new CodedError('not_found', `There is no audit chain ${chain}.`);
    const all = chains.flat().filter((entry) => entry.chain === chain && entry.seq > Number(after));
    // two entries a page
    const entries = all.slice(0, 2).map(toStored);
    return { entries, nextAfter: all.length > 2 ? entries.at(-1)?.seq : null, head };
  };
}

async function run(answer: (path: string) => unknown, ...options: string[]) {
  const stdout = new PassThrough();
  let exitCode = -1;
  const program = new Command().exitOverride();
  registerAuditVerify(program, {
    stdout,
    setExitCode: (code) => {
      exitCode = code;
    },
    fetchJson: async (path, schema) => schema.parse(answer(path)),
  });
  await program.parseAsync(['audit', 'verify', ...options], { from: 'user' });
  return { exitCode, text: String(stdout.read() ?? '') };
}

async function verify(answer: (path: string) => unknown, ...options: string[]): Promise<AuditVerification> {
  const { exitCode, text } = await run(answer, '--json', ...options);
  const result = JSON.parse(text) as AuditVerification;
  assert.equal(exitCode, result.verified ? 0 : 1);
  return result;
}

async function stored(t: TestContext, text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'audit-verify-'));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, 'audit.ndjson');
  await writeFile(path, text);
  return path;
}

const noFleet = (): never => assert.fail('asks nobody');
const found = (result: AuditVerification) =>
  result.faults.map(({ chain, seq, fault }) => `${chain} ${seq} ${fault}`);
const flipped = a.map((entry) =>
  entry.seq === 3
    ? { ...entry, body: entry.body.map((byte, place) => (place === 40 ? byte ^ 1 : byte)) }
    : entry,
);
const rebuilt = chainOf('session:s_a', '1', 'forged', '3');

test('a whole log passes over the API, all of it or one session, in words and as JSON', async () => {
  assert.deepEqual(await verify(fleet(sound)), {
    verified: true,
    entries: 8,
    chains: 2,
    faults: [],
    people: [],
  });
  assert.deepEqual(await verify(fleet(sound), '--session', 's_b'), {
    verified: true,
    entries: 3,
    chains: 1,
    faults: [],
    people: [],
  });
  assert.deepEqual(await run(fleet(sound)), { exitCode: 0, text: 'verified: 8 entries in 2 chains\n' });
});

test('a flipped byte is named with its chain and place, and the other chains are still walked', async () => {
  assert.deepEqual(found(await verify(fleet([flipped, b]))), ['session:s_a 3 wrong_digest']);
  const { exitCode, text } = await run(fleet([flipped, b]));
  assert.equal(exitCode, 1);
  assert.match(text, /^BROKEN session:s_a entry 3: its bytes do not have its digest\.\n/);
});

test('a tail that was cut from the entries but not from the chain’s row is named', async () => {
  const cut = fleet([a.slice(0, 2), b], sound);
  assert.deepEqual(found(await verify(cut)), ['session:s_a 3 tail_cut']);
});

test('with the sink’s file as anchor a rebuilt chain, a log set back and a lost session are found', async (t) => {
  const anchor = await stored(t, file([...a, ...b]));
  assert.equal((await verify(fleet(sound), '--anchor', anchor)).verified, true);
  // without the anchor these pass: the limit of a log that only knows itself
  for (const [chains, fault] of [
    [[rebuilt, b], 'session:s_a 5 head_differs'],
    [[a.slice(0, 3), b], 'session:s_a 4 tail_cut'],
    [[b], 'session:s_a 1 missing_chain'],
  ] as const) {
    assert.equal((await verify(fleet([...chains]))).verified, true);
    assert.deepEqual(found(await verify(fleet([...chains]), '--anchor', anchor)), [fault]);
  }
  assert.deepEqual(found(await verify(fleet([b]), '--anchor', anchor, '--session', 's_a')), [
    'session:s_a 1 missing_chain',
  ]);
});

test('a sink’s file is verified without the fleet; a torn last line is an export in progress', async (t) => {
  const text = file([...a, ...b]);
  assert.equal((await verify(noFleet, '--file', await stored(t, text))).entries, 8);
  assert.equal((await verify(noFleet, '--file', await stored(t, text.slice(0, -9)))).entries, 7);
  assert.equal((await verify(noFleet, '--file', await stored(t, ''))).entries, 0);
});

test('one session is told from a file, without the fleet; one that is not there is missing', async (t) => {
  const path = await stored(t, file([...a, ...b.slice(0, 2)]));
  const { session } = await verify(noFleet, '--file', path, '--session', 's_a');
  assert.deepEqual(session, { chain: 'session:s_a', entries: 5, closed: true, signed: null });
  const { text } = await run(noFleet, '--file', path, '--session', 's_b');
  assert.equal(text, 'verified: 7 entries in 2 chains\nsession:s_b: 2 entries, open\n');
  assert.deepEqual(found(await verify(noFleet, '--file', path, '--session', 's_c')), [
    'session:s_c 1 missing_chain',
  ]);
  // a broken log proves nothing of a session, not even that it is missing
  const broken = await stored(t, file([...flipped, ...b]));
  assert.deepEqual(found(await verify(noFleet, '--file', broken, '--session', 's_b')), [
    'session:s_a 3 wrong_digest',
  ]);
});

test('what is wrong in a file is named', async (t) => {
  assert.deepEqual(found(await verify(noFleet, '--file', await stored(t, file([...flipped, ...b])))), [
    'session:s_a 3 wrong_digest',
  ]);
  const dropped = file([...a, ...b])
    .split('\n')
    .toSpliced(2, 1)
    .join('\n');
  assert.deepEqual(found(await verify(noFleet, '--file', await stored(t, dropped))), [
    'session:s_a 4 index_gap',
  ]);
  const broken = await stored(t, file(a).replace('"session:s_a:2:', 'session:s_a:2:'));
  assert.deepEqual(found(await verify(noFleet, '--file', broken)), [`${broken} 2 unreadable`]);
  // an anchor that is broken itself proves nothing
  assert.equal((await verify(noFleet, '--anchor', broken)).verified, false);
});

test('options that do not go together and files that are not there are refused with what to do', async () => {
  await assert.rejects(run(noFleet, '--file', 'x', '--anchor', 'y'), { code: 'request_invalid' });
  await assert.rejects(run(noFleet, '--file', '/none/audit.ndjson'), { code: 'not_found' });
  await assert.rejects(run(fleet(sound), '--session', 's_none'), { code: 'not_found' });
});

test('names from the log are shown with their control characters visible', async (t) => {
  const line = file(a).replaceAll('session:s_a', String.raw`session:\u001b[31m`);
  const { text } = await run(noFleet, '--file', await stored(t, line));
  assert.ok(!text.includes('\u001b'));
});

test('who acted is told beside what was proved: by the file of people, or as the pseudonym alone', async (t) => {
  const ann = `person:${'a'.repeat(24)}`;
  const acted: AuditDraft = { type: 'session.opened', subject: ann, body: { policyDigest: 'a'.repeat(64) } };
  const { entries } = extendChain(unopened('session:s_p'), [acted], '2026-11-29T15:00:00.000Z');
  const path = await stored(t, file(entries));
  assert.deepEqual((await verify(noFleet, '--file', path)).people, [
    { person: ann, identity: null, entries: 1 },
  ]);
  await writeFile(`${path}.people`, JSON.stringify({ [ann]: 'ann@example.org' }));
  const { text } = await run(noFleet, '--file', path);
  assert.ok(text.includes(`1 by ann@example.org (${ann})`), text);
  await writeFile(`${path}.people`, '[]');
  await assert.rejects(run(noFleet, '--file', path), { code: 'request_invalid' });
});
