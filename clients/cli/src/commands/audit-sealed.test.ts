import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { extendChain, unopened } from '@lemniscate/shared/audit/chain.ts';
import { toCheckpointLine } from '@lemniscate/shared/audit/checkpoint-line.ts';
import type { AuditDraft, ChainedEntry } from '@lemniscate/shared/audit/entry.ts';
import { keyRotation, logChain, restoreEntry } from '@lemniscate/shared/audit/log-chain.ts';
import { consistencyRanges, inclusionRanges } from '@lemniscate/shared/audit/merkle-proof.ts';
import type { LeafRange } from '@lemniscate/shared/audit/merkle-proof.ts';
import { sinkLineSchema, toSinkLine } from '@lemniscate/shared/audit/sink-line.ts';
import { checkpointOf, makeKey, signCheckpoint, treeOf } from '@lemniscate/shared/audit/testing/seal.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { Command } from 'commander';
import { registerAuditVerify } from './audit-verify.ts';
import type { AuditVerification, AuditVerifyIo } from './audit-verify.ts';

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
const checkpointLine = (size: number, number: number): string => lineOf(lines, size, number);
function lineOf(log: readonly string[], size: number, number: number, epoch = 0, by = pair): string {
  const checkpoint = checkpointOf(parsed(log), size, number, epoch);
  const { frontier } = treeOf(parsed(log).slice(0, size));
  return toCheckpointLine({
    ...checkpoint,
    note: signCheckpoint(checkpoint, by),
    frontier: frontier.hashes,
  });
}
const checkpoints = [0, 4, 9].map(checkpointLine);

async function verify(
  t: TestContext,
  log: readonly string[],
  signed: readonly string[],
  anchor?: string,
  key = pair.key.text,
) {
  const { faults, entries, sealed } = await verifyFile(t, log, signed, { anchor, key });
  return { fault: faults[0]?.fault ?? null, entries, covered: sealed?.covered };
}

/** The terminal client with nothing but an export, the public key and what was given beside it. */
async function verifyFile(
  t: TestContext,
  log: readonly string[],
  signed: readonly string[],
  given: { readonly anchor?: string | undefined; readonly key?: string; readonly session?: string } = {},
): Promise<AuditVerification> {
  const { anchor, key = pair.key.text, session: asked } = given;
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
  if (asked !== undefined) more.push('--session', asked);
  await program.parseAsync(['audit', 'verify', '--json', '--file', file, '--key', key, ...more], {
    from: 'user',
  });
  return JSON.parse(String(stdout.read())) as AuditVerification;
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

test('one session of an export is proved with the public key alone, also one that lies before the anchor', async (t) => {
  const extent = async (asked: string, signed = checkpoints, anchor?: string) =>
    (await verifyFile(t, lines, signed, { session: asked, anchor })).session;
  const whole = { entries: 3, closed: true, signed: true };
  assert.deepEqual(await extent('s_1'), { chain: 'session:s_1', ...whole });
  assert.deepEqual(await extent('s_2', checkpoints, checkpoints[1]), { chain: 'session:s_2', ...whole });
  assert.deepEqual(await extent('s_0', checkpoints, checkpoints[1]), { chain: 'session:s_0', ...whole });
  // the last checkpoint does not cover it yet
  const young = { ...whole, signed: false };
  assert.deepEqual(await extent('s_2', checkpoints.slice(0, 2)), { chain: 'session:s_2', ...young });
  const { faults } = await verifyFile(t, lines, checkpoints, { session: 's_none', anchor: checkpoints[1] });
  assert.deepEqual(
    faults.map(({ chain, fault }) => `${chain} ${fault}`),
    ['session:s_none missing_chain'],
  );
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

test('an export whose checkpoints were emptied is not verified, with an anchor or without', async (t) => {
  assert.deepEqual(await verify(t, lines, []), { fault: 'unsealed', entries: 9, covered: 0 });
  assert.equal((await verify(t, lines, checkpoints.slice(0, 1))).fault, 'unsealed');
  assert.equal((await verify(t, lines, [], checkpoints[1])).fault, 'unsealed');
  const note = signCheckpoint(checkpointOf(parsed(lines), 4, 1), pair);
  assert.equal((await verify(t, lines, [], note)).fault, 'unsealed');
  // what came after the last checkpoint is young, and a log without entries has nothing to cover
  assert.equal((await verify(t, lines, checkpoints.slice(0, 2))).fault, null);
  assert.equal((await verify(t, lines, checkpoints.slice(1, 2), checkpoints[1])).fault, null);
  assert.equal((await verify(t, [], [])).fault, null);
});

/** Chains one after the other, as lines of one log. */
const logOf = (...chains: (readonly ChainedEntry[])[]): string[] =>
  chains.flat().map((entry, index) => toSinkLine({ index, entry }));
const own = (draft: AuditDraft): readonly ChainedEntry[] =>
  extendChain(unopened(logChain), [draft], '2026-11-29T15:00:00.000Z').entries;

test('an anchor that the second key has signed is one to begin at, and one of a thief is not', async (t) => {
  const next = makeKey();
  const log = logOf(
    session('a', '1'),
    own(keyRotation('exporter', pair, next)),
    session('b', '2'),
    session('c', '3'),
  );
  const signed = [lineOf(log, 3, 0), lineOf(log, 8, 1, 0, next), lineOf(log, 11, 2, 0, next)];
  assert.deepEqual(await verify(t, log, signed, signed[1]), { fault: null, entries: 3, covered: 11 });
  const thief = makeKey();
  assert.equal((await verify(t, log, signed, lineOf(log, 8, 1, 0, thief))).fault, 'checkpoint_forged');
  const stolen = signed.with(1, lineOf(log, 8, 1, 0, thief));
  assert.equal((await verify(t, log, stolen, stolen[1])).fault, 'checkpoint_forged');
  // an export that begins behind the hand-over is verified with the key of its time
  assert.equal((await verify(t, log.slice(8), signed.slice(1), signed[1])).fault, 'checkpoint_forged');
  assert.equal((await verify(t, log.slice(8), signed.slice(1), signed[1], next.key.text)).fault, null);
  assert.equal((await verify(t, log, signed, signed[1], next.key.text)).fault, null);
});

test('an anchor behind a restore is one to begin at, and one that the restore has lost is excused by it', async (t) => {
  const lost = logOf(session('a', '1'), session('gone', '2'), session('gone2', '3'));
  const before = [lineOf(lost, 3, 0), lineOf(lost, 6, 1), lineOf(lost, 9, 2)];
  const restore = restoreEntry('exporter', 0, checkpointOf(parsed(lost), 9, 2), pair);
  const log = logOf(session('a', '1'), own(restore), session('b', '4'), session('c', '5'));
  const signed = [before[0] ?? '', lineOf(log, 8, 3, 1), lineOf(log, 11, 4, 1)];
  assert.deepEqual(await verify(t, log, signed, signed[1]), { fault: null, entries: 3, covered: 11 });
  assert.deepEqual(await verify(t, log, signed, before[1]), { fault: null, entries: 11, covered: 11 });
  assert.equal((await verify(t, log.slice(8), signed.slice(1), signed[1])).fault, null);
  // nothing is excused that no restore has told
  const silent = logOf(session('a', '1'), session('b', '4'), session('c', '5'));
  const short = [before[0] ?? '', lineOf(silent, 6, 1)];
  assert.equal((await verify(t, silent, short, before[1])).fault, 'split_view');
  assert.equal((await verify(t, silent, short, before[2])).fault, 'unsealed');
});

/** The API of a fleet with these entries and checkpoints; `proofs` may come from another log. */
function fleet(entries: readonly string[], signed: readonly string[], proofs: readonly string[] = entries) {
  const log = parsed(entries);
  const roots = (ranges: readonly LeafRange[]): string[] =>
    ranges.map(({ start, end }) => {
      const { root } = treeOf(parsed(proofs).slice(start, end));
      return Buffer.from(root).toString('hex');
    });
  return (path: string): unknown => {
    const { pathname, searchParams: asked } = new URL(path, 'http://fleet');
    const number = (name: string): number => Number(asked.get(name));
    if (pathname === '/v1/audit/checkpoints') {
      const all = signed.map((line) => JSON.parse(line) as { number: number });
      const checkpoints = all.filter((one) => one.number > number('after')).slice(0, 1);
      return { checkpoints, nextAfter: null, last: all.at(-1)?.number ?? null };
    }
    if (pathname === '/v1/audit/proofs/consistency')
      return { path: roots(consistencyRanges(number('from'), number('to'))) };
    if (pathname === '/v1/audit/proofs/inclusion') {
      const index = log.findIndex(({ chain, seq }) => chain === asked.get('chain') && seq === number('seq'));
      return { index, path: roots(inclusionRanges(index, number('size'))) };
    }
    const chain = decodeURIComponent(pathname.split('/')[4] ?? '');
    const own = log.filter((line) => line.chain === chain);
    const last = own.at(-1);
    if (last === undefined) throw new CodedError('not_found', `There is no audit chain ${chain}.`);
    return { entries: own, nextAfter: null, head: { seq: last.seq, digest: last.digest, closed: true } };
  };
}

async function prove(t: TestContext, answer: (path: string) => unknown, anchor?: string) {
  const folder = await mkdtemp(join(tmpdir(), 'audit-proofs-'));
  t.after(() => rm(folder, { recursive: true }));
  const from = join(folder, 'anchor');
  if (anchor !== undefined) await writeFile(from, anchor);
  const stdout = new PassThrough();
  const program = new Command().exitOverride();
  registerAuditVerify(program, {
    stdout,
    setExitCode: () => undefined,
    fetchJson: async (path, schema) => schema.parse(answer(path)),
  });
  const more = anchor === undefined ? [] : ['--from', from];
  await program.parseAsync(
    ['audit', 'verify', '--json', '--session', 's_1', '--key', pair.key.text, ...more],
    { from: 'user' },
  );
  const result = JSON.parse(String(stdout.read())) as AuditVerification;
  return { fault: result.faults[0]?.fault ?? null, covered: result.sealed?.covered };
}

test('over the API: a session’s last entry is proved to be in the signed log, and the log to have only grown', async (t) => {
  assert.deepEqual(await prove(t, fleet(lines, checkpoints)), { fault: null, covered: 9 });
  assert.deepEqual(await prove(t, fleet(lines, checkpoints), checkpoints[1]), { fault: null, covered: 9 });
});

test('over the API: forged proofs, a rebuilt session, a log set back and a foreign signature are found', async (t) => {
  const rebuilt = linesOf('1', 'x', '3');
  // the database was rebuilt; the checkpoints are those that were signed before
  assert.equal((await prove(t, fleet(rebuilt, checkpoints))).fault, 'not_included');
  assert.equal((await prove(t, fleet(rebuilt, checkpoints, lines))).fault, 'not_included');
  assert.equal((await prove(t, fleet(lines, checkpoints, rebuilt))).fault, 'not_included');
  assert.equal((await prove(t, fleet(lines, checkpoints, linesOf('x', '2', '3')))).fault, 'not_included');
  assert.equal(
    (await prove(t, fleet(lines, checkpoints, linesOf('1', '2', 'x')), checkpoints[1])).fault,
    'inconsistent',
  );
  assert.equal((await prove(t, fleet(lines, checkpoints.slice(0, 2)), checkpoints[2])).fault, 'log_cut');
  const foreign = checkpointOf(parsed(rebuilt), 9, 2);
  const line = toCheckpointLine({ ...foreign, note: signCheckpoint(foreign, makeKey()), frontier: [] });
  assert.equal((await prove(t, fleet(rebuilt, [line]))).fault, 'checkpoint_forged');
});

test('over the API: an anchor that a restore has lost is excused by it, and by nothing else', async (t) => {
  const lost = logOf(session('a', '1'), session('gone', '2'), session('gone2', '3'));
  const before = [lineOf(lost, 3, 0), lineOf(lost, 6, 1), lineOf(lost, 9, 2)];
  const restored = (restore: AuditDraft, kept = '1') =>
    logOf(session('a', kept), own(restore), session('s_1', '4'), session('c', '5'));
  const restore = restoreEntry('exporter', 0, checkpointOf(parsed(lost), 9, 2), pair);
  const log = restored(restore);
  const signed = [before[0] ?? '', lineOf(log, 8, 3, 1), lineOf(log, 11, 4, 1)];
  for (const anchor of [...before, signed[1], undefined])
    assert.deepEqual(await prove(t, fleet(log, signed), anchor), { fault: null, covered: 11 });
  // what was lost must be of the history that the entry cites
  const other = logOf(session('a', '1'), session('other', '9'), session('gone2', '3'));
  assert.equal((await prove(t, fleet(log, signed), lineOf(other, 9, 2))).fault, 'inconsistent');
  // behind the cited checkpoint nothing is excused: an older anchor was given to the exporter than the receivers have
  const older = restored(restoreEntry('exporter', 0, checkpointOf(parsed(lost), 6, 1), pair));
  const olderSigned = [before[0] ?? '', lineOf(older, 8, 2, 1), lineOf(older, 11, 3, 1)];
  assert.equal((await prove(t, fleet(older, olderSigned), before[1])).fault, null);
  assert.equal((await prove(t, fleet(older, olderSigned), before[2])).fault, 'inconsistent');
  // an entry that the key has not signed is nobody's word
  const forged = restored(restoreEntry('thief', 0, checkpointOf(parsed(lost), 9, 2), makeKey()));
  const forgedSigned = [before[0] ?? '', lineOf(forged, 11, 4, 1)];
  assert.equal((await prove(t, fleet(forged, forgedSigned), before[2])).fault, 'epoch_unexplained');
  assert.equal((await prove(t, fleet(forged, forgedSigned))).fault, 'epoch_unexplained');
  assert.equal((await prove(t, fleet(forged, [lineOf(forged, 11, 4)]), before[2])).fault, 'inconsistent');
  // and what the backup had must still stand
  const rewritten = restored(restore, 'x');
  const rewrittenSigned = [before[0] ?? '', lineOf(rewritten, 11, 4, 1)];
  assert.equal((await prove(t, fleet(rewritten, rewrittenSigned), before[2])).fault, 'inconsistent');
  assert.equal((await prove(t, fleet(log, signed.slice(1)), before[2])).fault, 'checkpoint_forged');
});

test('over the API: an entry that the log has left out is found by its age; a young one is not covered yet', async (t) => {
  const sealedLater = (minutes: number): string => {
    const at = new Date(Date.parse('2026-11-29T15:00:00.000Z') + minutes * 60_000).toISOString();
    const checkpoint = { ...checkpointOf(parsed(lines), 9, 2), at };
    return toCheckpointLine({ ...checkpoint, note: signCheckpoint(checkpoint, pair), frontier: [] });
  };
  const leftOut = (minutes: number) => {
    const honest = fleet(lines, [...checkpoints.slice(0, 2), sealedLater(minutes)]);
    return (path: string): unknown => {
      if (path.startsWith('/v1/audit/proofs/inclusion')) throw new CodedError('not_found', 'Not in the log.');
      return honest(path);
    };
  };
  assert.deepEqual(await prove(t, leftOut(2)), { fault: 'not_covered', covered: 0 });
  assert.deepEqual(await prove(t, leftOut(0.5)), { fault: null, covered: 0 });
});

/** Evidence of a session, asked of a fleet, and what is verified of it without one. */
async function evidence(t: TestContext, answer: (path: string) => unknown, anchor?: string) {
  const folder = await mkdtemp(join(tmpdir(), 'audit-evidence-'));
  t.after(() => rm(folder, { recursive: true }));
  const [file, from] = [join(folder, 's_1.evidence'), join(folder, 'anchor')];
  if (anchor !== undefined) await writeFile(from, anchor);
  const run = async (arguments_: string[], fetchJson: AuditVerifyIo['fetchJson']) => {
    const stdout = new PassThrough();
    let exitCode = -1;
    const program = new Command().exitOverride();
    registerAuditVerify(program, { stdout, setExitCode: (code) => (exitCode = code), fetchJson });
    await program.parseAsync(['audit', ...arguments_, '--key', pair.key.text], { from: 'user' });
    return { exitCode, text: String(stdout.read()) };
  };
  const more = anchor === undefined ? [] : ['--from', from];
  const written = await run(['evidence', '--session', 's_1', '--out', file, ...more], async (path, schema) =>
    schema.parse(answer(path)),
  );
  return {
    file,
    from,
    written,
    verify: async (...arguments_: string[]) => {
      const { text } = await run(['verify', '--json', '--file', file, ...arguments_], () =>
        Promise.reject(new Error('the fleet was asked')),
      );
      const result = JSON.parse(text) as AuditVerification;
      return {
        fault: result.faults[0]?.fault ?? null,
        covered: result.sealed?.covered,
        entries: result.entries,
      };
    },
  };
}

test('evidence of one session verifies offline: inclusion and growth, with the public key alone', async (t) => {
  const { verify, written, file, from } = await evidence(t, fleet(lines, checkpoints), checkpoints[1]);
  assert.equal(written.exitCode, 0);
  const whole = { fault: null, covered: 9, entries: 3 };
  assert.deepEqual(await verify(), whole);
  assert.deepEqual(await verify('--session', 's_1', '--from', from), whole);
  await assert.rejects(verify('--session', 's_2'), { code: 'request_invalid' });
  // it has one session and no more: the other entries of the log are not in it
  const text = await readFile(file, 'utf8');
  assert.ok(!text.includes('session:s_0') && !text.includes('session:s_2'));
});

test('evidence that was forged is found, and an anchor that it knows nothing of is told', async (t) => {
  const honest = await evidence(t, fleet(lines, checkpoints), checkpoints[1]);
  const text = await readFile(honest.file, 'utf8');
  const forge = async (change: (line: string) => string) => {
    await writeFile(honest.file, text.split('\n').map(change).join('\n'));
    return (await honest.verify('--from', honest.from)).fault;
  };
  assert.equal(await forge((line) => line), null);
  const swapHash = (line: string) => line.replace(/[0-9a-f]{64}/, 'ab'.repeat(32));
  const of = (path: string, change: (line: string) => string) => (line: string) =>
    line.startsWith(`{"path":"${path}`) ? change(line) : line;
  assert.equal(await forge(of('/v1/audit/proofs/inclusion', swapHash)), 'not_included');
  assert.equal(await forge(of('/v1/audit/proofs/consistency', swapHash)), 'inconsistent');
  assert.equal(
    await forge(of('/v1/audit/chains/session', (line) => line.replace(/"body":"./, '"body":"A'))),
    'wrong_digest',
  );
  assert.equal(
    await forge(of('/v1/audit/checkpoints', (line) => line.replaceAll(/\\n9\\n/g, '\\n8\\n'))),
    'checkpoint_forged',
  );
  // another history, its evidence made by whoever rules that database
  const rebuilt = await evidence(t, fleet(linesOf('1', 'x', '3'), checkpoints));
  assert.equal(rebuilt.written.exitCode, 1);
  assert.equal((await rebuilt.verify()).fault, 'not_included');
  const without = await evidence(t, fleet(lines, checkpoints));
  await assert.rejects(without.verify('--from', honest.from), {
    code: 'request_invalid',
    message: /same --from/,
  });
});
