import assert from 'node:assert/strict';
import { test } from 'node:test';
import { extendChain, unopened } from './chain.ts';
import type { AuditDraft } from './entry.ts';
import { sinkLineSchema, toSinkLine } from './sink-line.ts';
import type { SinkLine } from './sink-line.ts';
import { createLogVerifier } from './verify-log.ts';

const at = '2026-11-29T15:00:00.000Z';
const opening: AuditDraft = {
  type: 'session.opened',
  subject: 'ann',
  body: { policyDigest: 'a'.repeat(64) },
};
const executed: AuditDraft = { type: 'tool.executed', subject: 'srv', body: { call: 'c', state: 'done' } };
const closing: AuditDraft = { type: 'chain.closed', subject: 'srv', body: {} };
const chains = ['session:a', 'session:b'].map(
  (chain) => extendChain(unopened(chain), [opening, executed, executed, closing], at).entries,
);
/** Two sessions, entry by entry in turns: a1 b1 a2 b2 … */
const lines: SinkLine[] = [0, 1, 2, 3]
  .flatMap((seq) => chains.map((entries) => entries[seq] ?? assert.fail()))
  .map((entry, index) => sinkLineSchema.parse(JSON.parse(toSinkLine({ index, entry }))));

function firstFault(log: readonly SinkLine[]): { chain: string; seq: number; fault: string } | null {
  const verifier = createLogVerifier();
  for (const line of log) {
    const fault = verifier.push(line);
    if (fault !== null) return { chain: fault.chain, seq: fault.seq, fault: fault.fault };
  }
  return null;
}

const change = (place: number, by: (line: SinkLine) => Partial<SinkLine>): SinkLine[] =>
  lines.map((line, index) => (index === place ? { ...line, ...by(line) } : line));
const renumber = (log: readonly SinkLine[]): SinkLine[] => log.map((line, index) => ({ ...line, index }));

test('a whole export passes, and its ends are those of the chains', () => {
  const verifier = createLogVerifier();
  for (const line of lines) assert.equal(verifier.push(line), null);
  assert.equal(verifier.entries(), 8);
  assert.deepEqual([...verifier.ends().keys()], ['session:a', 'session:b']);
  assert.equal(verifier.ends().get('session:b')?.digest, lines[7]?.digest);
});

test('an export that was cut at the end passes as far as it goes: its ends tell how far', () => {
  assert.equal(firstFault(lines.slice(0, 5)), null);
});

test('every dropped line is found, also when the indexes were made dense again', () => {
  for (let place = 0; place < lines.length - 2; place += 1) {
    const without = lines.filter((_, index) => index !== place);
    assert.equal(firstFault(without)?.fault, 'index_gap', `line ${place}`);
    const fault = firstFault(renumber(without));
    assert.ok(fault?.fault === 'gap' || fault?.fault === 'missing_open', `line ${place} renumbered`);
    assert.equal(fault.chain, lines[place]?.chain);
  }
});

test('a doubled line and an entry behind the close are found', () => {
  const doubled = [...lines.slice(0, 3), lines[2] ?? assert.fail(), ...lines.slice(3)];
  assert.equal(firstFault(doubled)?.fault, 'index_gap');
  assert.deepEqual(firstFault(renumber(doubled)), { chain: 'session:a', seq: 2, fault: 'repeated' });
  assert.deepEqual(firstFault(renumber([...lines, lines[6] ?? assert.fail()])), {
    chain: 'session:a',
    seq: 4,
    fault: 'after_close',
  });
});

test('a readable part that says something else than the hashed bytes is found', () => {
  for (const lie of [
    { entry: { ...(lines[3]?.entry as Record<string, string>), subject: 'eve' } },
    { id: 'session:b:9' },
    { type: 'tool.decided' },
    { at: '2026-11-29T15:00:00.001Z' },
  ])
    assert.deepEqual(firstFault(change(3, () => lie)), {
      chain: 'session:b',
      seq: 2,
      fault: 'copies_differ',
    });
});

test('changed bytes are found even when the readable part was changed with them', () => {
  const forged = change(3, (line) => {
    const body = Buffer.from(Buffer.from(line.body, 'base64').toString().replace('"srv"', '"eve"'));
    return { body: body.toString('base64'), entry: JSON.parse(body.toString()) };
  });
  assert.deepEqual(firstFault(forged), { chain: 'session:b', seq: 2, fault: 'wrong_digest' });
});

test('a review entry holds the end of the session that it cites: another history of it is found', () => {
  const end = chains[0]?.at(-1) ?? assert.fail();
  const decided = (digest: string): SinkLine[] => {
    const body = { decision: 'accepted', session: 'a', sessionChainDigest: digest, sessionChainClosed: true };
    const review = extendChain(unopened('review:p'), [{ type: 'diff.decided', subject: 'ann', body }], at);
    return review.entries.map((entry, place) =>
      sinkLineSchema.parse(JSON.parse(toSinkLine({ index: lines.length + place, entry }))),
    );
  };
  const right = Buffer.from(end.digest).toString('hex');
  assert.equal(firstFault([...lines, ...decided(right)]), null);
  const wrong = { chain: 'review:p', seq: 2, fault: 'citation_wrong' };
  assert.deepEqual(firstFault([...lines, ...decided('0'.repeat(64))]), wrong);
  // the session’s close itself is gone: what is cited is not there
  const open = lines.filter((line) => line.chain !== 'session:a' || line.seq < 4);
  assert.deepEqual(firstFault(renumber([...open, ...decided(right)])), wrong);
});
