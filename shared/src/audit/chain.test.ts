import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { isCodedError } from '../errors/coded-error.ts';
import { extendChain, largestBody, unopened } from './chain.ts';
import { contentMembers } from './catalogue.ts';
import type { AuditDraft } from './entry.ts';

const at = '2026-11-29T15:00:00.000Z';
const opening: AuditDraft = {
  type: 'session.opened',
  subject: 'ann',
  body: { policyDigest: 'a'.repeat(64) },
};
const executed: AuditDraft = {
  type: 'tool.executed',
  subject: 'srv',
  attempt: 2,
  body: { call: 'c', state: 'done' },
};
const closing: AuditDraft = { type: 'chain.closed', subject: 'srv', body: {} };
const read = (body: Uint8Array): Record<string, unknown> => JSON.parse(Buffer.from(body).toString());
const code = (wanted: Parameters<typeof isCodedError>[1]) => (error: unknown) => isCodedError(error, wanted);

test('each entry carries the digest of the one before, and the close counts', () => {
  const { entries, head } = extendChain(unopened('session:s'), [opening, executed, closing], at);
  assert.deepEqual(
    entries.map((entry) => [entry.seq, entry.prev]),
    [
      [1, new Uint8Array()],
      [2, entries[0]?.digest],
      [3, entries[1]?.digest],
    ],
  );
  assert.deepEqual(head, { chain: 'session:s', seq: 3, digest: entries[2]?.digest, closed: true });
  assert.deepEqual(read(entries[1]?.body ?? Buffer.of()), { ...executed, at, v: 1 });
  assert.deepEqual(read(entries[2]?.body ?? Buffer.of())['body'], { entries: '3' });
});

test('extending in two steps gives the chain that one step gives', () => {
  const first = extendChain(unopened('session:s'), [opening], at);
  const second = extendChain(first.head, [executed, closing], at);
  const whole = extendChain(unopened('session:s'), [opening, executed, closing], at);
  assert.deepEqual([...first.entries, ...second.entries], whole.entries);
});

test('a session’s chain wants its opening; any other opens by itself', () => {
  assert.throws(() => extendChain(unopened('session:s'), [executed], at), code('audit_chain_broken'));
  const { entries } = extendChain(unopened('review:p'), [{ ...executed }], at);
  assert.deepEqual(
    entries.map((entry) => entry.type),
    ['chain.opened', 'tool.executed'],
  );
});

test('no second opening and nothing after the close', () => {
  for (const drafts of [
    [opening, opening],
    [opening, closing, executed],
    [opening, { ...opening, type: 'chain.opened' as const }],
  ])
    assert.throws(() => extendChain(unopened('session:s'), drafts, at), code('audit_chain_broken'));
});

test('a body that misses what its type needs, or could hold content, is refused without its values', () => {
  const append = (body: AuditDraft['body']) => () =>
    extendChain(unopened('session:s'), [opening, { ...executed, body }], at);
  assert.throws(append({ call: 'c' }), code('internal'));
  for (const member of contentMembers)
    assert.throws(append({ call: 'c', state: 'done', [member]: 'marker-7' }), (error: unknown) => {
      return isCodedError(error, 'internal') && !error.message.includes('marker-7');
    });
});

test('a list that makes an entry too large becomes its count and digest', () => {
  const files = Array.from({ length: 5000 }, (_, index) => `src/some/folder/file-${index}.ts`);
  const draft: AuditDraft = { type: 'diff.offered', subject: 'srv', body: { files, insertions: 3 } };
  const entry = extendChain(unopened('session:s'), [opening, draft], at).entries[1];
  assert.ok(entry !== undefined && entry.body.length < largestBody);
  const sha256 = hash('sha256', JSON.stringify(files), 'hex');
  assert.deepEqual(read(entry.body)['body'], { files: { items: 5000, sha256 }, insertions: 3 });
});
