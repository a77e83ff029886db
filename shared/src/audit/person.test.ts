import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditDraft } from './entry.ts';
import { identitiesIn, withPseudonyms } from './person.ts';

/** Wherever a body can name people, and a group that is none. */
const drafts: readonly AuditDraft[] = [
  { type: 'user.revoked', subject: 'ann', body: { user: 'ben' } },
  {
    type: 'delivery.started',
    subject: 'spiffe://lemniscate/dispatcher',
    body: { owner: 'ann', actor: 'github:ben' },
  },
  { type: 'account.linked', subject: 'ann', body: { account: 'github:ben', user: 'ben' } },
  { type: 'role.bound', subject: 'ann', body: { principalKind: 'person', principal: 'ben', role: 'member' } },
  { type: 'diff.decided', subject: 'ben', body: { decision: 'accepted', acceptedBy: ['ann', 'ben'] } },
];

test('everybody whom an entry names is one of the people whose pseudonym it gets', () => {
  for (const draft of drafts) {
    const identities = identitiesIn(draft);
    const pseudonyms = new Map(identities.map((identity, place) => [identity, `person:${place}`]));
    const written = JSON.stringify(withPseudonyms(draft, pseudonyms));
    assert.doesNotMatch(written, /"(github:)?(ann|ben)"/, draft.type);
  }
});

test('a group, an agent and a service keep their names', () => {
  const bound: AuditDraft = {
    type: 'role.bound',
    subject: 'spiffe://lemniscate/dispatcher',
    body: { principalKind: 'group', principal: 'engineers' },
  };
  const credential: AuditDraft = {
    type: 'credential.removed',
    subject: 'spiffe://lemniscate/dispatcher',
    body: { owner: 'spiffe://lemniscate/agent/fixer', credential: 'npm' },
  };
  assert.deepEqual([...identitiesIn(bound), ...identitiesIn(credential)], []);
  assert.deepEqual(withPseudonyms(bound, new Map([['engineers', 'person:0']])), bound);
});
