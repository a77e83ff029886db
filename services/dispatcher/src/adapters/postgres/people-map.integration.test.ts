import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fleetChain } from '@lemniscate/shared/audit/entry.ts';
import { systemClock } from '@lemniscate/shared/clock.ts';
import { createAuditDatabase, noDatabase } from '../../testing/audit-database.ts';
import type { AuditDatabase } from '../../testing/audit-database.ts';
import { createAuditLog } from './audit-log.ts';
import { createAuditReader } from './audit-reader.ts';
import { createPeopleMap } from './people-map.ts';

let database: AuditDatabase;
if (noDatabase === false) {
  before(async () => {
    database = await createAuditDatabase(20);
  });
  after(() => database.drop());
}

const skip = noDatabase;
const only = async (people: ReturnType<typeof createPeopleMap>, identity: string): Promise<string> =>
  (await people.pseudonyms(database.app, [identity])).get(identity) ?? assert.fail();

test('an entry holds pseudonyms alone; the reader tells who they are', { skip }, async () => {
  const people = createPeopleMap(systemClock);
  const audit = createAuditLog({ clock: systemClock, commitmentKey: Buffer.alloc(32), people });
  await database.app.transaction((tx) =>
    audit.append(tx, fleetChain, [
      { type: 'user.revoked', subject: 'ann@example.org', body: { user: 'bob@example.org' } },
      {
        type: 'diff.decided',
        subject: 'bob@example.org',
        body: { decision: 'accepted', acceptedBy: ['ann@example.org', 'bob@example.org'] },
      },
    ]),
  );
  const stored = await database.owner.query<{ body: Buffer }>('SELECT body FROM audit_entries');
  assert.equal(stored.length, 3);
  const text = stored.map(({ body }) => body.toString()).join('\n');
  assert.doesNotMatch(text, /example/);
  const page = await createAuditReader(database.app, people).entries(fleetChain, 0, 10);
  assert.deepEqual(new Set(Object.values(page.people)), new Set(['ann@example.org', 'bob@example.org']));
  assert.equal(Object.keys(page.people).filter((pseudonym) => text.includes(pseudonym)).length, 2);
});

test('everybody has one pseudonym, for all processes and under all at once', { skip }, async () => {
  const maps = Array.from({ length: 10 }, () => createPeopleMap(systemClock));
  const identities = Array.from({ length: 20 }, (_, number) => `p${number}`);
  const found = await Promise.all(
    maps.map((map, turn) =>
      database.app.transaction((tx) =>
        map.pseudonyms(tx, turn % 2 === 0 ? identities : identities.toReversed()),
      ),
    ),
  );
  for (const identity of identities)
    assert.equal(new Set(found.map((pseudonyms) => pseudonyms.get(identity))).size, 1);
});

test('a pseudonym of a transaction that was rolled back is nobody’s', { skip }, async () => {
  const people = createPeopleMap(systemClock);
  let lost = '';
  const work = database.app.transaction(async (tx) => {
    for (let time = 0; time < 2; time += 1) lost = (await people.pseudonyms(tx, ['carl'])).get('carl') ?? '';
    throw new Error('the act failed');
  });
  await assert.rejects(work, /the act failed/);
  const kept = await only(people, 'carl');
  assert.notEqual(kept, lost);
  assert.equal((await people.identities(database.app, [kept])).get(kept), 'carl');
});

test('an erased person stays erased, and gets another pseudonym', { skip }, async () => {
  const people = createPeopleMap(systemClock);
  const before = await only(people, 'dora');
  assert.equal(await people.erase(database.app, 'dora'), before);
  assert.equal(await people.erase(database.app, 'dora'), null);
  assert.equal((await people.identities(database.app, [before])).get(before), null);
  assert.notEqual(await only(people, 'dora'), before);
});

test(
  'the application can erase a row and neither make it somebody else’s nor remove it',
  { skip },
  async () => {
    const people = createPeopleMap(systemClock);
    const [one, gone] = [await only(people, 'emil'), await only(people, 'fritz')];
    await people.erase(database.app, 'fritz');
    const refused: [string, string][] = [
      [`UPDATE audit_people SET identity = 'other' WHERE pseudonym = $1`, one],
      [`UPDATE audit_people SET identity = 'fritz', erased_at = NULL WHERE pseudonym = $1`, gone],
      [`UPDATE audit_people SET pseudonym = 'person:' || repeat('0', 24) WHERE pseudonym = $1`, one],
      ['DELETE FROM audit_people WHERE pseudonym = $1', one],
    ];
    for (const [statement, pseudonym] of refused) {
      await assert.rejects(database.app.query(statement, [pseudonym]), { code: '42501' }, statement);
      await assert.rejects(database.owner.query(statement, [pseudonym]), { code: '42501' }, statement);
    }
  },
);
