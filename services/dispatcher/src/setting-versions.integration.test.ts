import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createTestFleet } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';

interface Versioned {
  readonly version: number;
}

/** Settings that several people change: how one is set, and where its version is told. */
const settings = [
  {
    path: '/v1/costs/budgets/project/local',
    bodies: [{ amountUsd: '10' }, { amountUsd: '20' }],
    told: '/v1/costs/budgets',
    removed: { amountUsd: null },
  },
  {
    path: '/v1/costs/centres/local',
    bodies: [{ costCentre: 'CC-1' }, { costCentre: 'CC-2' }],
    told: '/v1/costs/centres/local',
  },
  {
    path: '/v1/costs/pools/default',
    bodies: [
      { fromDay: '2026-01-01', usdPerSlotHour: '0.1' },
      { fromDay: '2026-02-01', usdPerSlotHour: '0.2' },
    ],
    told: '/v1/costs/pools/default',
  },
  { path: '/v1/pools/default', bodies: [{ packing: true }, { packing: false }], told: '/v1/pools' },
  {
    path: '/v1/account-links',
    bodies: ['p-1', 'p-1'].map((subject) => ({ source: 'github', account: 'Octo-Pat', subject })),
    told: '/v1/account-links',
  },
] as const;

describe('settings that several people change', () => {
  let fleet: TestFleet;
  let dispatcher: TestDispatcher;
  before(async () => {
    fleet = await createTestFleet({ servers: [{ name: 'alpha', capacity: 2 }] });
    dispatcher = await fleet.startDispatcher();
  });
  after(() => fleet.remove());

  const put = (path: string, body: unknown, seen: number | null) =>
    dispatcher.call<{ code?: string; detail?: string }>(
      'PUT',
      path,
      body,
      seen === null ? {} : { 'if-match': `"${seen}"` },
    );
  const versionAt = async (told: string): Promise<number> => {
    const { body } = await dispatcher.call<Partial<Versioned> & Record<string, unknown>>('GET', told);
    const [rows] = Object.values(body) as (readonly Versioned[])[];
    const version = body.version ?? rows?.[0]?.version;
    assert.ok(version !== undefined, `${told} tells no version`);
    return version;
  };

  for (const { path, bodies, told, ...more } of settings)
    test(`PUT ${path} names the version that it saw`, async () => {
      const [first, second] = bodies;
      const without = await put(path, first, null);
      assert.deepEqual([without.status, without.body.code], [428, 'version_required']);
      // Two people see that there is nothing, and both set it: there is no row yet that one could wait for.
      const raced = await Promise.all([put(path, first, 0), put(path, second, 0)]);
      assert.equal(raced.filter(({ status }) => status < 300).length, 1);
      assert.equal(raced.filter(({ status }) => status === 409).length, 1);
      const lost = raced.find(({ status }) => status === 409)?.body;
      const version = await versionAt(told);
      assert.equal(lost?.code, 'version_conflict');
      assert.match(lost?.detail ?? '', new RegExp(`is at version ${version}, not 0`));
      const both = await Promise.all([put(path, first, version), put(path, second, version)]);
      assert.equal(both.filter(({ status }) => status < 300).length, 1);
      const later = await versionAt(told);
      assert.ok(later > version);
      if (!('removed' in more)) return;
      assert.equal((await put(path, more.removed, version)).status, 409);
      assert.equal((await put(path, more.removed, later)).status, 200);
      assert.equal((await put(path, first, 0)).status, 200);
      assert.ok(
        (await versionAt(told)) > later,
        'what is made again has no version that somebody saw before',
      );
    });

  test('a link is taken away at the version that was seen', async () => {
    const path = '/v1/account-links?source=github&account=octo-pat';
    const version = await versionAt('/v1/account-links');
    assert.equal((await dispatcher.call('DELETE', path)).status, 428);
    const remove = (seen: number) =>
      dispatcher.call('DELETE', path, undefined, { 'if-match': `"${seen}"` }).then(({ status }) => status);
    assert.equal(await remove(version - 1), 409);
    assert.equal(await remove(version), 204);
    assert.equal(await remove(version), 404);
  });
});
