import assert from 'node:assert/strict';
import { test } from 'node:test';
import { extendChain, unopened } from './chain.ts';
import { openNote, parseLogKey, readNote } from './checkpoint.ts';
import type { AuditDraft } from './entry.ts';
import { acceptRotation, keyRotation, logChain, restoreEntry } from './log-chain.ts';
import { sinkLineSchema, toSinkLine } from './sink-line.ts';
import type { SinkLine } from './sink-line.ts';
import { checkpointOf, makeKey, origin, signCheckpoint, treeOf } from './testing/seal.ts';
import { createLogVerifier } from './verify-log.ts';
import { createSealVerifier } from './verify-seal.ts';
import type { SealOptions } from './verify-seal.ts';

const at = '2026-11-29T15:00:00.000Z';
const opening: AuditDraft = {
  type: 'session.opened',
  subject: 'ann',
  body: { policyDigest: 'a'.repeat(64) },
};
const executed = (call: string): AuditDraft => ({
  type: 'tool.executed',
  subject: 'srv',
  body: { call, state: 'done' },
});
const closing: AuditDraft = { type: 'chain.closed', subject: 'srv', body: {} };

function logOf(...chains: (readonly [string, readonly AuditDraft[]])[]): SinkLine[] {
  return chains
    .flatMap(([chain, drafts]) => extendChain(unopened(chain), drafts, at).entries)
    .map((entry, index) => sinkLineSchema.parse(JSON.parse(toSinkLine({ index, entry }))));
}
const session = (id: string, ...calls: string[]) =>
  [`session:${id}`, [opening, ...calls.map(executed), closing]] as const;

const pair = makeKey();
const { key } = pair;
const lines = logOf(session('a', '1', '2', '3'), session('b', '4', '5'), session('c', '6'));
/** Sizes of the checkpoints 0, 1, 2 …; the third is idle. */
const sealedAt = [0, 3, 3, 7, lines.length] as const;
const seal = (log: readonly SinkLine[]): string[] =>
  sealedAt.map((size, number) => signCheckpoint(checkpointOf(log, size, number), pair));
const notes = seal(lines);
const note = (number: number): string => notes[number] ?? assert.fail();

function verify(log: readonly SinkLine[], options: Partial<SealOptions> = {}) {
  const entries = createLogVerifier(options.from?.size ?? 0);
  const seals = createSealVerifier({ key, notes, ...options });
  for (const line of log) {
    const fault = entries.push(line);
    if (fault !== null) return { fault: fault.fault, seq: fault.seq };
    seals.push(line);
  }
  const fault = seals.finish();
  if (fault !== null) return { fault: fault.fault, seq: fault.seq };
  return {
    fault: null,
    covered: seals.covered(),
    checkpoints: seals.checkpoints(),
    restores: seals.restores().length,
  };
}
const whole = { fault: null, covered: lines.length, checkpoints: 5, restores: 0 };

/** What a database administrator can do: the log with something else in it, every digest computed anew. */
const rebuilt = logOf(session('a', '1', '2', '3'), session('b', '4', 'x'), session('c', '6'));

test('a whole log passes, and says how far it is signed', () => {
  assert.deepEqual(verify(lines), whole);
  assert.deepEqual(verify(lines, { notes: notes.slice(0, 4) }), { ...whole, covered: 7, checkpoints: 4 });
  assert.deepEqual(verify(lines, { notes: notes.slice(0, 3), anchors: [note(4)] }), {
    ...whole,
    checkpoints: 4,
  });
});

test('a log that was rebuilt with recomputed digests passes without checkpoints and is found with them', () => {
  assert.equal(verify(rebuilt, { notes: [] }).fault, null);
  assert.deepEqual(verify(rebuilt), { fault: 'root_differs', seq: 3 + 1 });
  const forgedFrom = verify(rebuilt, { notes: notes.slice(0, 3), anchors: [note(4)] });
  assert.deepEqual(forgedFrom, { fault: 'root_differs', seq: 4 });
});

test('a deleted session, made dense again, is found', () => {
  const without = logOf(session('a', '1', '2', '3'), session('c', '6'));
  assert.equal(verify(without, { notes: [] }).fault, null);
  assert.equal(verify(without).fault, 'root_differs');
});

test('a cut tail and a database set back behind an anchor are found', () => {
  assert.deepEqual(verify(lines.slice(0, 7)), { fault: 'log_cut', seq: 4 });
  // the forger cuts the checkpoints as well: only what lies outside shows it
  assert.equal(verify(lines.slice(0, 7), { notes: notes.slice(0, 4) }).fault, null);
  assert.deepEqual(verify(lines.slice(0, 7), { notes: notes.slice(0, 4), anchors: [note(4)] }), {
    fault: 'log_cut',
    seq: 4,
  });
});

test('a split view is found: the same number for another log', () => {
  const other = seal(rebuilt);
  assert.deepEqual(verify(rebuilt, { notes: other }).fault, null);
  assert.deepEqual(verify(rebuilt, { notes: other, anchors: [note(4)] }), { fault: 'split_view', seq: 4 });
  assert.deepEqual(verify(lines, { notes: [...notes, other[4] ?? ''] }), { fault: 'split_view', seq: 4 });
});

test('a replayed, skipped, moved or shrinking checkpoint is found', () => {
  assert.deepEqual(verify(lines, { notes: [...notes, note(2)] }), { fault: 'checkpoint_repeated', seq: 2 });
  for (const number of [0, 1, 2, 3])
    assert.deepEqual(verify(lines, { notes: notes.toSpliced(number, 1) }), {
      fault: 'checkpoint_gap',
      seq: number,
    });
  assert.equal(verify(lines, { notes: [note(1), note(0), ...notes.slice(2)] }).fault, 'checkpoint_gap');
  const skipped = [...notes, signCheckpoint(checkpointOf(lines, lines.length, 6), pair)];
  assert.deepEqual(verify(lines, { notes: skipped }), { fault: 'checkpoint_gap', seq: 5 });
  const shrinking = [...notes, signCheckpoint(checkpointOf(lines, 7, 5), pair)];
  assert.deepEqual(verify(lines, { notes: shrinking }), { fault: 'checkpoint_shrinks', seq: 5 });
});

test('a checkpoint with any byte changed, of another key, or of another log is found', () => {
  const last = note(4);
  for (let place = 0; place < last.length; place += 1) {
    const code = last.charCodeAt(place);
    const changed = last.slice(0, place) + String.fromCharCode(code ^ 1) + last.slice(place + 1);
    // the last character of unpadded base64 has spare bits: the bytes are the same, so is what they say
    if (openNote(changed, key) !== null) continue;
    assert.notEqual(verify(lines, { notes: [...notes.slice(0, 4), changed] }).fault, null, `byte ${place}`);
  }
  const foreign = signCheckpoint(checkpointOf(lines, lines.length, 4), makeKey());
  assert.deepEqual(verify(lines, { notes: notes.with(4, foreign) }), { fault: 'checkpoint_forged', seq: 4 });
  const elsewhere = signCheckpoint(
    { ...checkpointOf(lines, lines.length, 4), origin: 'other' },
    makeKey('other'),
  );
  assert.deepEqual(verify(lines, { notes: notes.with(4, elsewhere) }), {
    fault: 'checkpoint_unreadable',
    seq: 4,
  });
  assert.equal(verify(lines, { notes: notes.with(4, 'no note') }).fault, 'checkpoint_unreadable');
});

test('a note is read back as it was signed, and a key by its text', () => {
  assert.equal(readNote(note(3))?.checkpoint.size, 7);
  assert.equal(openNote(note(3), parseLogKey(key.text) ?? assert.fail())?.number, 3);
  assert.equal(parseLogKey(key.text.replace(/\+[0-9a-f]{8}\+/, '+00000000+')), null);
  assert.equal(parseLogKey('x'), null);
});

test('from an anchor with its frontier only what is behind it is walked, and a false frontier is found', () => {
  const { frontier } = treeOf(lines.slice(0, 7));
  const behind = { from: frontier, notes: notes.slice(3) };
  assert.deepEqual(verify(lines.slice(7), behind), { ...whole, checkpoints: 2 });
  assert.deepEqual(verify(rebuilt.slice(7), behind), { fault: 'root_differs', seq: 4 });
  const false_ = { size: 7, hashes: treeOf(rebuilt.slice(1, 8)).frontier.hashes };
  assert.equal(verify(lines.slice(7), { ...behind, from: false_ }).fault, 'root_differs');
});

test('a key hands over to the next by an entry that both have signed, and from then on only the new one counts', () => {
  const next = makeKey();
  const draft = keyRotation('exporter', pair, next);
  const log = logOf(session('a', '1'), [logChain, [draft]], session('b', '2'));
  const first = signCheckpoint(checkpointOf(log, 2, 0), pair);
  const later = (by: typeof pair) => [first, signCheckpoint(checkpointOf(log, log.length, 1), by)];
  assert.equal(verify(log, { notes: later(next) }).fault, null);
  assert.deepEqual(verify(log, { notes: later(pair) }), { fault: 'checkpoint_forged', seq: 1 });
  assert.equal(verify(log, { notes: later(next), key: next.key }).fault, 'rotation_refused');
  // somebody who has the database, and not the old key, brings a key of his own
  const thief = makeKey();
  for (const forged of [
    keyRotation('eve', { key, secret: thief.secret }, thief),
    keyRotation('eve', pair, { key: next.key, secret: thief.secret }),
    keyRotation('eve', thief, thief),
  ]) {
    assert.equal(acceptRotation(forged.body, key), null);
    const bad = logOf(session('a', '1'), [logChain, [forged]]);
    assert.equal(
      verify(bad, { notes: [signCheckpoint(checkpointOf(bad, bad.length, 0), thief)] }).fault,
      'rotation_refused',
    );
  }
});

test('a restore is told, explains what was lost with it, and nothing else', () => {
  const lost = logOf(session('a', '1'), session('gone', '2', '3'), session('gone2', '4'));
  const before = [0, 3, 7, 9].map((size, number) => signCheckpoint(checkpointOf(lost, size, number), pair));
  const anchor = checkpointOf(lost, 9, 3);
  const entry = restoreEntry('exporter', 1, anchor, pair);
  const log = logOf(session('a', '1'), [logChain, [entry]], session('new', '5', '6', '7', '8'));
  const after = signCheckpoint(checkpointOf(log, log.length, 4, 1), pair);
  const kept = before.slice(0, 2);
  assert.deepEqual(verify(log, { notes: [...kept, after] }), {
    fault: null,
    covered: log.length,
    checkpoints: 3,
    restores: 1,
  });
  // the world outside still has what was lost
  assert.equal(verify(log, { notes: [...kept, after], anchors: before }).fault, null);
  // without the entry it is a log that was set back
  const silent = logOf(session('a', '1'), session('new', '5', '6', '7', '8'));
  assert.equal(verify(silent, { notes: kept, anchors: before }).fault, 'root_differs');
  const unexplained = signCheckpoint(checkpointOf(silent, silent.length, 4, 1), pair);
  assert.equal(verify(silent, { notes: [...before, unexplained] }).fault, 'root_differs');
  assert.equal(verify(silent, { notes: [...kept, unexplained] }).fault, 'checkpoint_gap');
  const late = signCheckpoint(checkpointOf(silent, silent.length, 2, 1), pair);
  assert.equal(verify(silent, { notes: [...kept, late] }).fault, 'epoch_unexplained');
  // the restore does not cover what was there before it
  const set = logOf(session('b', '1'), [logChain, [entry]]);
  assert.deepEqual(
    verify(set, { notes: [...kept, signCheckpoint(checkpointOf(set, set.length, 4, 1), pair)] }),
    {
      fault: 'root_differs',
      seq: 1,
    },
  );
  assert.equal(before[3]?.startsWith(origin), true);
});
