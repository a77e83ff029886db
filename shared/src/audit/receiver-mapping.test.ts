import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toCef } from './cef.ts';
import { extendChain, unopened } from './chain.ts';
import { auditEntryTypes } from './entry.ts';
import type { AuditDraft } from './entry.ts';
import { toOcsf } from './ocsf.ts';
import { checkpointEvent, entryEvent, plainRecord } from './outgoing-event.ts';
import type { OutgoingEvent } from './outgoing-event.ts';
import { eventMappings, mappingOf, ocsfClassOf } from './receiver-mapping.ts';

const opened: AuditDraft = {
  type: 'session.opened',
  subject: 'ann@x',
  body: { policyDigest: 'a'.repeat(64) },
};
const executed: AuditDraft = {
  type: 'tool.executed',
  subject: 'spiffe://srv',
  attempt: 2,
  server: 'one',
  body: { call: 'c1', state: 'errored', path: 'a|b=c\\d\ne' },
};
const [first, second] = extendChain(
  unopened('session:s'),
  [opened, executed],
  '2026-11-29T15:00:00.123Z',
).entries.map((entry, index) => entryEvent({ index, entry }));
assert.ok(first !== undefined && second !== undefined);
const event: OutgoingEvent = second;

test('every type of the catalogue has a row, with an activity and a severity in range', () => {
  for (const type of [...auditEntryTypes, 'log.checkpoint' as const]) {
    const { activity, severity, name } = eventMappings[type];
    assert.ok(activity >= 1 && activity <= 99, type);
    assert.ok(severity >= 0 && severity <= 10 && name.length > 0, type);
  }
  assert.equal(mappingOf('constructor').name, 'Audit entry');
  assert.equal(ocsfClassOf(mappingOf('login.refused')).class_uid, 3002);
});

test('OCSF: class, type, time, who, and the links of the chain', () => {
  const ocsf = toOcsf(event) as Record<string, unknown>;
  assert.deepEqual(
    { class: ocsf['class_uid'], type: ocsf['type_uid'], time: ocsf['time'], status: ocsf['status_id'] },
    { class: 1007, type: 100_701, time: Date.parse('2026-11-29T15:00:00.123Z'), status: 2 },
  );
  assert.deepEqual(ocsf['metadata'], {
    version: '1.9.0',
    uid: `session:s:2:${event.integrity['digest']?.slice(0, 16)}`,
    event_code: 'tool.executed',
    product: { name: 'Lemniscate', vendor_name: 'Lemniscate' },
    profiles: ['host', 'record_integrity'],
  });
  assert.deepEqual((ocsf['attestation_list'] as unknown[])[0], {
    uid: event.id,
    chain_uid: 'session:s',
    prev_event: first.integrity['digest'],
    fingerprint: { algorithm_id: 3, algorithm: 'SHA-256', value: event.integrity['digest'] },
  });
});

test('CEF: separators, backslashes and newlines of hostile text stay inside their field', () => {
  const cef = toCef(event);
  assert.ok(!cef.includes('\n'));
  assert.ok(cef.startsWith('CEF:0|Lemniscate|Lemniscate|1|tool.executed|Tool call executed|3|rt='));
  const uid = `session:s:2:${event.integrity['digest']?.slice(0, 16)}`;
  assert.ok(cef.includes(`externalId=${uid} suid=spiffe://srv suser=spiffe://srv dvchost=one `));
  assert.ok(cef.endsWith(String.raw`msg={"call":"c1","path":"a|b\=c\\\\d\\\\ne","state":"errored"}`), cef);
  const hostile = toCef({ ...event, subject: 'eve cs1=0\nCEF:0|x', type: 'a|b' });
  assert.ok(hostile.includes(String.raw`suser=eve cs1\=0\nCEF:0|x `) && hostile.includes(String.raw`|a\|b|`));
});

test('a checkpoint leaves with its note', () => {
  const [root, note] = [Buffer.alloc(32), 'o\n1\n\n— k s\n'];
  const out = checkpointEvent({
    origin: 'o',
    size: 1,
    root,
    number: 4,
    epoch: 0,
    at: event.at,
    note,
    frontier: [],
  });
  assert.equal(out.id, 'checkpoint:4:0000000000000000');
  assert.equal((toOcsf(out) as { unmapped: { note: string } }).unmapped.note, note);
});

test('the directory’s identity stands beside the pseudonym where it is known, in every shape', () => {
  const ann = `person:${'a'.repeat(24)}`;
  const known: OutgoingEvent = { ...event, subject: ann, people: { [ann]: 'ann@x' } };
  assert.deepEqual((toOcsf(known) as { actor: unknown }).actor, { user: { uid: ann, name: 'ann@x' } });
  assert.ok(toCef(known).includes(`suid=${ann} suser=ann@x `));
  const plain = plainRecord(known) as Record<string, unknown>;
  assert.deepEqual([plain['subject'], plain['identity']], [ann, 'ann@x']);
  const erased = { ...known, people: {} };
  assert.equal((plainRecord(erased) as Record<string, unknown>)['identity'], ann);
  assert.doesNotMatch(JSON.stringify([toOcsf(erased), toCef(erased)]), /ann@x/);
});
