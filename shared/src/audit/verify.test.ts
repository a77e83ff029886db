import assert from 'node:assert/strict';
import { test } from 'node:test';
import { extendChain, unopened } from './chain.ts';
import { entryDigest } from './digest.ts';
import type { AuditDraft, ChainedEntry } from './entry.ts';
import { createChainVerifier } from './verify.ts';
import type { ChainFaultKind, ExpectedEnd } from './verify.ts';

const at = '2026-11-29T15:00:00.000Z';
const chain = 'session:s';
const drafts: AuditDraft[] = [
  { type: 'session.opened', subject: 'ann', body: { policyDigest: 'a'.repeat(64) } },
  ...[1, 2, 3, 4].map((call) => ({
    type: 'tool.executed' as const,
    subject: 'srv',
    body: { call: `c${call}`, state: 'done' },
  })),
];
const closing: AuditDraft = { type: 'chain.closed', subject: 'srv', body: {} };
const open = extendChain(unopened(chain), drafts, at);
const whole = extendChain(unopened(chain), [...drafts, closing], at);

interface Found {
  readonly seq: number;
  readonly fault: ChainFaultKind;
}

function verify(entries: readonly ChainedEntry[], expected: ExpectedEnd = {}): Found | null {
  const verifier = createChainVerifier(chain, expected);
  for (const entry of entries) verifier.push(entry);
  const fault = verifier.finish();
  return fault === null ? null : { seq: fault.seq, fault: fault.fault };
}

/** The forger's tool: the entries with one changed, and, where he can, all digests from there on computed anew. */
function forge(
  entries: readonly ChainedEntry[],
  seq: number,
  change: (entry: ChainedEntry) => Partial<ChainedEntry>,
  rehash: 'none' | 'entry' | 'all' = 'none',
): ChainedEntry[] {
  let prev: Uint8Array = new Uint8Array();
  return entries.map((entry) => {
    const changed = entry.seq === seq ? { ...entry, ...change(entry) } : entry;
    const linked = rehash === 'all' ? { ...changed, prev } : changed;
    const anew = rehash === 'all' || (rehash === 'entry' && entry.seq === seq);
    const digest = anew ? entryDigest(chain, linked.seq, linked.prev, linked.body) : linked.digest;
    prev = digest;
    return { ...linked, digest };
  });
}

const text = (entry: ChainedEntry): string => Buffer.from(entry.body).toString();
const say = (from: string, to: string) => (entry: ChainedEntry) => ({
  body: Buffer.from(text(entry).replace(from, to)),
});
const flip = (bytes: Uint8Array, index: number): Uint8Array =>
  bytes.map((byte, place) => (place === index ? byte ^ 1 : byte));
const closed: ExpectedEnd = { closed: true };
const known: ExpectedEnd = { head: { seq: open.head.seq, digest: open.head.digest } };
const without = (...seqs: number[]): ChainedEntry[] => whole.entries.filter(({ seq }) => !seqs.includes(seq));

test('a whole chain passes, open and closed, with and without an expected end', () => {
  assert.equal(verify(open.entries), null);
  assert.equal(verify(open.entries, known), null);
  assert.equal(verify(whole.entries, closed), null);
  assert.equal(verify(whole.entries, known), null);
});

test('every single flipped bit of body, prev and digest is found at its entry', () => {
  for (const entry of whole.entries)
    for (const part of ['body', 'prev', 'digest'] as const)
      for (let index = 0; index < entry[part].length; index += 1) {
        const forged = forge(whole.entries, entry.seq, () => ({ [part]: flip(entry[part], index) }));
        const found = verify(forged);
        // a digest that is wrong shows at its own entry, never later
        assert.equal(found?.seq, entry.seq, `${part} ${index}`);
        assert.equal(found.fault, part === 'prev' ? 'wrong_prev' : 'wrong_digest');
      }
});

const forgeries: [name: string, entries: readonly ChainedEntry[], expected: ExpectedEnd, found: Found][] = [
  ['an entry in the middle dropped', without(3), {}, { seq: 4, fault: 'gap' }],
  ['the opening dropped', without(1), {}, { seq: 2, fault: 'missing_open' }],
  ['all dropped', [], {}, { seq: 1, fault: 'missing_open' }],
  [
    'an entry doubled',
    whole.entries.flatMap((e) => (e.seq === 3 ? [e, e] : [e])),
    {},
    { seq: 3, fault: 'repeated' },
  ],
  [
    'two entries swapped',
    [0, 2, 1, 3, 4, 5].flatMap((index) => whole.entries[index] ?? []),
    {},
    { seq: 3, fault: 'gap' },
  ],
  [
    'two entries swapped and renumbered',
    [0, 2, 1, 3, 4, 5].flatMap((index, place) => {
      const entry = whole.entries[index];
      return entry === undefined ? [] : [{ ...entry, seq: place + 1 }];
    }),
    {},
    { seq: 2, fault: 'wrong_prev' },
  ],
  ['the tail cut from a session that has ended', without(5, 6), closed, { seq: 4, fault: 'missing_close' }],
  ['the tail cut before a known head', without(4, 5, 6), known, { seq: 4, fault: 'tail_cut' }],
  ['everything cut before a known head', [], known, { seq: 1, fault: 'tail_cut' }],
  [
    'an entry of another chain put in',
    forge(whole.entries, 3, () => ({ chain: 'session:t' })),
    {},
    { seq: 3, fault: 'foreign' },
  ],
  [
    'an entry changed and hashed anew',
    forge(whole.entries, 3, say('done', 'errored'), 'entry'),
    {},
    { seq: 4, fault: 'wrong_prev' },
  ],
  [
    'the chain rebuilt with new digests behind a known head',
    forge(open.entries, 3, say('done', 'errored'), 'all'),
    known,
    { seq: 5, fault: 'head_differs' },
  ],
  [
    'the chain rebuilt and grown past a known place',
    forge(whole.entries, 3, say('done', 'errored'), 'all'),
    known,
    { seq: 5, fault: 'head_differs' },
  ],
  [
    'an opening turned into something else',
    forge(
      whole.entries,
      1,
      () => ({ type: 'tool.executed', body: open.entries[1]?.body ?? Buffer.of() }),
      'all',
    ),
    {},
    { seq: 1, fault: 'missing_open' },
  ],
  [
    'bytes that are not canonical',
    forge(whole.entries, 3, say('{', '{ '), 'all'),
    {},
    { seq: 3, fault: 'not_canonical' },
  ],
  [
    'bytes that are no JSON',
    forge(whole.entries, 3, () => ({ body: Buffer.of(0xff) }), 'all'),
    {},
    { seq: 3, fault: 'not_canonical' },
  ],
  [
    'an envelope with a member too many',
    forge(whole.entries, 3, say('"v":1', '"v":1,"w":1'), 'all'),
    {},
    { seq: 3, fault: 'not_canonical' },
  ],
  [
    'a readable type that lies',
    forge(whole.entries, 3, () => ({ type: 'tool.decided' })),
    {},
    { seq: 3, fault: 'copies_differ' },
  ],
  [
    'a readable time that lies',
    forge(whole.entries, 3, () => ({ at: '2026-11-29T15:00:00.001Z' })),
    {},
    { seq: 3, fault: 'copies_differ' },
  ],
  [
    'a forged close with a count of another length',
    forge(whole.entries, 6, say('"entries":"6"', '"entries":"5"'), 'all'),
    {},
    { seq: 6, fault: 'wrong_count' },
  ],
  [
    'a forged early close',
    forge(
      whole.entries,
      4,
      () => ({
        type: 'chain.closed',
        body: Buffer.from(text(whole.entries[5] ?? assert.fail()).replace('"entries":"6"', '"entries":"4"')),
      }),
      'all',
    ),
    {},
    { seq: 5, fault: 'after_close' },
  ],
  [
    'a second opening',
    forge(
      whole.entries,
      3,
      () => ({ type: 'session.opened', body: whole.entries[0]?.body ?? Buffer.of() }),
      'all',
    ),
    {},
    { seq: 3, fault: 'second_open' },
  ],
];
for (const [name, entries, expected, found] of forgeries)
  test(`found: ${name}`, () => assert.deepEqual(verify(entries, expected), found));

test('a rebuilt chain without a head from outside passes: the limit that the decision page names', () => {
  assert.equal(verify(forge(whole.entries, 3, say('done', 'errored'), 'all'), closed), null);
  assert.equal(verify(without(4, 5, 6)), null);
});

test('after the first fault the verifier stays at it and counts only what was whole', () => {
  const verifier = createChainVerifier(chain);
  const forged = forge(whole.entries, 3, (entry) => ({ body: flip(entry.body, 5) }));
  const faults = forged.map((entry) => verifier.push(entry)?.seq ?? null);
  assert.deepEqual(faults, [null, null, 3, 3, 3, 3]);
  assert.equal(verifier.count(), 2);
});
