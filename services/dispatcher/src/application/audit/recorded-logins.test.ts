import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditDraft } from '@lemniscate/shared/audit/entry.ts';
import type { Person } from '../identity.ts';
import { withLoginsRecorded } from './recorded-logins.ts';

const ann: Person = { subject: 'ann@example.org', name: 'Ann', kind: 'human' };
const robot: Person = { subject: 'token:ci', name: 'ci', kind: 'automation' };

function fixture() {
  const entries: AuditDraft[] = [];
  let at = 0;
  const deps = {
    database: {
      query: () => Promise.resolve([]),
      transaction: <Result>(work: (tx: never) => Promise<Result>) => work(undefined as never),
    },
    audit: {
      append: async (_tx: unknown, _chain: string, drafts: readonly AuditDraft[]) =>
        void entries.push(...drafts),
      appendEach: () => Promise.resolve(),
      lookAhead: () => Promise.resolve(),
      head: async () => null,
      commit: (kind: string, text: string) => `${kind}:${text.length}`,
    },
    clock: { now: () => new Date(at), monotonicMs: () => at },
  };
  const inner = {
    authenticate: async (token: string | null): Promise<Person> => {
      if (token === 'bad') throw new Error('unauthenticated');
      return token?.startsWith('lms_') === true ? robot : ann;
    },
  };
  const authenticator = withLoginsRecorded(inner, deps);
  return {
    entries,
    later: (ms: number) => void (at += ms),
    come: (token: string) => authenticator.authenticate(token),
  };
}

test('the first use of a credential is an entry, the next are none, a day later it is one again', async () => {
  const { entries, come, later } = fixture();
  await come('local-login');
  await come('local-login');
  await come('another');
  assert.equal(entries.length, 2);
  later(25 * 3_600_000);
  await come('local-login');
  assert.equal(entries.length, 3);
  const [first] = entries;
  assert.equal(first?.type, 'login.accepted');
  assert.equal(first.subject, 'ann@example.org');
  assert.equal(first.body['how'], 'local');
  assert.ok(!JSON.stringify(entries).includes('local-login'), 'no credential is in the log');
});

test('what is refused is none, and a login that was recorded when it was made is not recorded again', async () => {
  const { entries, come } = fixture();
  await assert.rejects(come('bad'));
  await come('lml_made-by-a-login');
  assert.deepEqual(entries, []);
});
