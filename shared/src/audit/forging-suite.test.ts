import assert from 'node:assert/strict';
import { test } from 'node:test';
import { extendChain, unopened } from './chain.ts';
import { entryDigest, toHex } from './digest.ts';
import type { AuditDraft, ChainedEntry } from './entry.ts';
import { logChain, restoreEntry } from './log-chain.ts';
import { foldRight, leafHash, nodeHash, verifyConsistency, verifyInclusion } from './merkle.ts';
import { sinkLineSchema, toSinkLine } from './sink-line.ts';
import type { SinkLine } from './sink-line.ts';
import { checkpointOf, makeKey, signCheckpoint, treeOf } from './testing/seal.ts';
import { createLogVerifier } from './verify-log.ts';
import { createSealVerifier } from './verify-seal.ts';

// The forgings that the log must find, one row each. A row also says with which knowledge taken away the same forging passes:
// so it is that knowledge that finds it, and the row can fail.

const at = '2026-11-29T15:00:00.000Z';
const session = (id: string, ...calls: string[]): ChainedEntry[] => {
  const drafts: AuditDraft[] = [
    { type: 'session.opened', subject: 'ann', body: { policyDigest: 'a'.repeat(64) } },
    ...calls.map((call): AuditDraft => ({
      type: 'tool.executed',
      subject: 'srv',
      body: { call, state: 'done' },
    })),
    { type: 'chain.closed', subject: 'srv', body: {} },
  ];
  return extendChain(unopened(`session:${id}`), drafts, at).entries;
};
const lined = (entries: readonly ChainedEntry[]): SinkLine[] =>
  entries.map((entry, index) => sinkLineSchema.parse(JSON.parse(toSinkLine({ index, entry }))));

const pair = makeKey();
const [a, b, c] = [session('a', '1', '2', '3'), session('b', '4', '5'), session('c', '6')] as const;
const honest = [...a, ...b, ...c];
const sizes = [0, 5, 5, 9, honest.length] as const;
const sealed = (entries: readonly ChainedEntry[], key = pair): string[] =>
  sizes.map((size, number) => signCheckpoint(checkpointOf(lined(entries), size, number), key));
const notes = sealed(honest);

/** What a verifier has: the entries, the checkpoints beside them, and what somebody outside has kept. */
interface Knowledge {
  readonly entries: readonly ChainedEntry[];
  readonly notes: readonly string[];
  readonly anchors: readonly string[];
}

/** The first fault; null where everything holds. */
function judge({ entries, notes: given, anchors }: Knowledge): string | null {
  const log = createLogVerifier();
  const seal = createSealVerifier({ key: pair.key, notes: given, anchors });
  for (const line of lined(entries)) {
    const fault = log.push(line);
    if (fault !== null) return fault.fault;
    seal.push(line);
  }
  return seal.finish()?.fault ?? null;
}

const say = (entry: ChainedEntry, from: string, to: string): ChainedEntry => {
  const body = Buffer.from(Buffer.from(entry.body).toString().replace(from, to));
  return { ...entry, body };
};
/** Digests from the first on, as somebody computes them who can write every row. */
function rehashed(entries: readonly ChainedEntry[]): ChainedEntry[] {
  let prev: Uint8Array = new Uint8Array();
  return entries.map((entry, place) => {
    const seq = place + 1;
    const digest = entryDigest(entry.chain, seq, prev, entry.body);
    const forged = { ...entry, seq, prev, digest };
    prev = digest;
    return forged;
  });
}
const flipped = a.map((entry) => (entry.seq === 3 ? say(entry, '"2"', '"9"') : entry));
const rebuilt = [...rehashed(flipped), ...b, ...c];
const without = [...a, ...c];
/** Entry 4 of chain a for one reader, and another one for the next. */
const forked = [
  ...a.slice(0, 3),
  ...rehashed([...a.slice(0, 3), say(a[3] ?? assert.fail(), '"3"', '"7"')]).slice(3),
];

interface Forging {
  readonly name: string;
  readonly forged: Knowledge;
  readonly found: string;
  /** The forging as it looks to a verifier that lacks what finds it. */
  readonly unseen: Knowledge;
}
const trusting = (entries: readonly ChainedEntry[]): Knowledge => ({ entries, notes: [], anchors: [] });
const kept = [notes[4] ?? assert.fail()];

/** A log of one session that says of itself that everything else was lost with a restore. */
const excused = (body: AuditDraft['body']): ChainedEntry[] => [
  ...session('a', '1'),
  ...extendChain(unopened(logChain), [{ type: 'log.restored', subject: 'eve', body }], at).entries,
];
const lossOfAll = {
  epoch: 1,
  fromNumber: -1,
  anchorNumber: 1e9,
  anchorSize: '0',
  anchorRoot: '0'.repeat(64),
};
/** Body of a restore that has lost everything up to a checkpoint. */
const lossTo = (number: number, key = pair, entries = honest): AuditDraft['body'] =>
  restoreEntry('exporter', -1, checkpointOf(lined(entries), sizes[number] ?? 0, number), key).body;
/** Number 4 once more, in the epoch of the restore. */
const secondEpoch = signCheckpoint(checkpointOf(lined(honest), honest.length, 4, 1), pair);

const forgings: readonly Forging[] = [
  {
    name: 'flip: a changed word',
    forged: trusting([...flipped, ...b, ...c]),
    found: 'wrong_digest',
    // whoever computes digests anew is not found by them
    unseen: trusting(rebuilt),
  },
  {
    name: 'drop: an entry is gone',
    forged: trusting([...a.slice(0, 2), ...a.slice(3), ...b, ...c]),
    found: 'gap',
    unseen: trusting([...rehashed(a.slice(0, 2)), ...b, ...c]),
  },
  {
    name: 'swap: two entries changed places',
    forged: trusting([...[0, 2, 1, 3, 4].map((place) => a[place] ?? assert.fail()), ...b, ...c]),
    found: 'gap',
    unseen: trusting([...rehashed([0, 2, 1, 3, 4].map((place) => a[place] ?? assert.fail())), ...b, ...c]),
  },
  {
    name: 'duplicate: an entry stands twice',
    forged: trusting([...a.slice(0, 3), ...a.slice(2), ...b, ...c]),
    found: 'repeated',
    unseen: trusting(honest),
  },
  {
    name: 'cut the tail: the last entries are gone',
    forged: { entries: honest.slice(0, 9), notes, anchors: [] },
    found: 'log_cut',
    unseen: { entries: honest.slice(0, 9), notes: notes.slice(0, 4), anchors: [] },
  },
  {
    name: 'delete a session',
    forged: { entries: without, notes, anchors: [] },
    found: 'log_cut',
    unseen: trusting(without),
  },
  {
    name: 'fork: two histories of a chain from one entry on',
    forged: { entries: [...forked, ...b, ...c], notes: [], anchors: kept },
    found: 'log_cut',
    unseen: trusting([...forked, ...b, ...c]),
  },
  {
    name: 'rebuild with recomputed digests',
    forged: { entries: rebuilt, notes, anchors: [] },
    found: 'root_differs',
    unseen: trusting(rebuilt),
  },
  {
    name: 'roll the database back behind an anchor',
    forged: { entries: honest.slice(0, 9), notes: notes.slice(0, 4), anchors: kept },
    found: 'log_cut',
    unseen: { entries: honest.slice(0, 9), notes: notes.slice(0, 4), anchors: [] },
  },
  {
    name: 'split view: another log is signed under the same numbers',
    forged: { entries: rebuilt, notes: sealed(rebuilt), anchors: kept },
    found: 'split_view',
    unseen: { entries: rebuilt, notes: sealed(rebuilt), anchors: [] },
  },
  {
    name: 'a foreign signature',
    forged: { entries: rebuilt, notes: sealed(rebuilt, makeKey()), anchors: [] },
    found: 'checkpoint_forged',
    unseen: { entries: rebuilt, notes: sealed(rebuilt), anchors: [] },
  },
  {
    name: 'replayed checkpoint',
    forged: { entries: honest, notes: [...notes, notes[2] ?? ''], anchors: [] },
    found: 'checkpoint_repeated',
    unseen: { entries: honest, notes, anchors: [] },
  },
  {
    name: 'a skipped number',
    forged: { entries: honest, notes: notes.toSpliced(2, 1), anchors: [] },
    found: 'checkpoint_gap',
    unseen: { entries: honest, notes, anchors: [] },
  },
  {
    name: 'a restore that nobody signed excuses a rebuilt log',
    forged: { entries: excused(lossOfAll), notes, anchors: notes },
    found: 'root_differs',
    unseen: trusting(excused(lossOfAll)),
  },
  {
    name: 'the same, held against an anchor from outside alone',
    forged: { entries: excused(lossOfAll), notes: [], anchors: kept },
    found: 'log_cut',
    unseen: trusting(excused(lossOfAll)),
  },
  {
    name: 'a restore that a foreign key signed',
    forged: { entries: excused(lossTo(4, makeKey())), notes: [], anchors: kept },
    found: 'log_cut',
    unseen: { entries: excused(lossTo(4)), notes: [], anchors: kept },
  },
  {
    name: 'a restore with another number than the one that was signed',
    forged: { entries: excused({ ...lossTo(3), anchorNumber: 4 }), notes: [], anchors: kept },
    found: 'log_cut',
    unseen: { entries: excused(lossTo(4)), notes: [], anchors: kept },
  },
  {
    name: 'a restore that cites another history than the anchors have',
    forged: { entries: excused(lossTo(4, pair, rebuilt)), notes: [], anchors: kept },
    found: 'log_cut',
    unseen: { entries: excused(lossTo(4)), notes: [], anchors: kept },
  },
  {
    name: 'a signed restore excuses nothing that came after it',
    forged: { entries: excused(lossTo(3)), notes: [], anchors: kept },
    found: 'log_cut',
    unseen: { entries: excused(lossTo(3)), notes: [], anchors: [notes[3] ?? ''] },
  },
  {
    name: 'a signed restore excuses no checkpoint of its own epoch',
    forged: { entries: excused(lossTo(4)), notes: [], anchors: [secondEpoch] },
    found: 'log_cut',
    unseen: { entries: excused(lossTo(4)), notes: [], anchors: kept },
  },
  {
    name: 'a signed restore excuses no foreign signature',
    forged: {
      entries: excused(lossTo(4)),
      notes: [],
      anchors: sealed(honest, makeKey()).slice(3, 4),
    },
    found: 'log_cut',
    unseen: { entries: excused(lossTo(4)), notes: [], anchors: notes.slice(3, 4) },
  },
  {
    name: 'a signed restore excuses no second history of a number',
    forged: {
      entries: excused(lossTo(4)),
      notes: notes.slice(0, 4).with(3, sealed(rebuilt)[3] ?? ''),
      anchors: notes.slice(3, 4),
    },
    found: 'split_view',
    unseen: { entries: excused(lossTo(4)), notes: notes.slice(0, 4), anchors: notes.slice(3, 4) },
  },
];

test('the honest log passes with everything that anybody knows', () => {
  assert.equal(judge({ entries: honest, notes, anchors: kept }), null);
});

for (const { name, forged, found, unseen } of forgings)
  test(`forging: ${name}`, () => {
    assert.equal(judge(forged), found);
    assert.equal(judge(unseen), null, 'passes for whoever does not have what finds it');
  });

test('forging: proofs of inclusion and of growth', () => {
  const leaves = lined(honest).map(({ digest }) => leafHash(Buffer.from(digest, 'hex')));
  const [first, second, third, fourth] = leaves.slice(0, 4);
  assert.ok(first !== undefined && second !== undefined && third !== undefined && fourth !== undefined);
  const root = foldRight([nodeHash(nodeHash(first, second), nodeHash(third, fourth))]);
  const tree = { size: 4, root };
  const path = [fourth, nodeHash(first, second)];
  assert.equal(verifyInclusion(third, 2, tree, path), true);
  const other = leafHash(Buffer.from(toHex(rebuilt[2]?.digest ?? assert.fail()), 'hex'));
  for (const [leaf, index, proof] of [
    [other, 2, path],
    [third, 3, path],
    [third, 2, path.toReversed()],
    [third, 2, path.slice(0, 1)],
    [third, 2, [...path, first]],
    // a node that is handed in as a leaf
    [nodeHash(third, fourth), 0, [nodeHash(first, second)]],
  ] as const)
    assert.equal(verifyInclusion(leaf, index, tree, proof), false);
  const earlier = { size: 2, root: nodeHash(first, second) };
  const growth = [nodeHash(third, fourth)];
  assert.equal(verifyConsistency(earlier, tree, growth), true);
  const split = { size: 4, root: treeOf(lined(rebuilt).slice(0, 4)).root };
  for (const [from, to, proof] of [
    [earlier, split, growth],
    [{ size: 2, root: nodeHash(second, first) }, tree, growth],
    [earlier, tree, []],
    [earlier, tree, [fourth]],
    [tree, earlier, growth],
  ] as const)
    assert.equal(verifyConsistency(from, to, proof), false);
});
