import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { idPrefixes } from '@lemniscate/shared/id.ts';
import { changeTable } from './http/change-table.ts';
import { createTestFleet } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';
import { within } from './testing/within.ts';

interface Versioned {
  readonly version: number;
}

const triggerDefinition = {
  name: 'a trigger',
  agent: 'default',
  task: 'Look.',
  when: { kind: 'event', filters: [{ exact: { type: 'x' } }] },
};
const targetDefinition = {
  name: 'a target',
  place: { kind: 'webhook', url: 'https://bridge.example.invalid/in' },
  events: ['test'],
};
const binding = { kind: 'group', principal: 'platform', role: 'operator', project: '*' };
const asQuery = (fields: Readonly<Record<string, string>>): string =>
  `?${new URLSearchParams(fields).toString()}`;

/** Well-formed requests, so that nothing but the version is missing. */
const wellFormed: Readonly<Record<string, { readonly body?: object; readonly query?: string }>> = {
  'PUT /v1/role-bindings': { body: binding },
  'DELETE /v1/role-bindings': { query: asQuery(binding) },
  'PUT /v1/projects/:id/policy': { body: {} },
  'PUT /v1/projects/:id/queue': { body: { weight: 3 } },
  'PUT /v1/projects/:id/retention': { body: { logs: 9 } },
  'PUT /v1/agents/:agent': { body: {} },
  'PUT /v1/agents/:agent/credentials/:name': { body: { value: 'a-value-of-a-credential' } },
  'PUT /v1/projects/:id/skills/:skill': {
    body: { files: [{ path: 'SKILL.md', sha256: 'a'.repeat(64), bytes: 1 }] },
  },
  'POST /v1/projects/:id/agents/:agent/memory/restore': { body: { version: 1 } },
  'PATCH /v1/objects/:object': { body: { status: 'doing' } },
  'PUT /v1/projects/:id/workspace': { body: { repository: null } },
  'PUT /v1/triggers/:trigger': { body: triggerDefinition },
  'PUT /v1/hooks/:hook': { body: { definition: { name: 'a hook' } } },
  'PUT /v1/account-links': { body: { source: 'github', account: 'octo', subject: 'p-1' } },
  'DELETE /v1/account-links': { query: asQuery({ source: 'github', account: 'octo' }) },
  'PUT /v1/notify-targets/:target': { body: { definition: targetDefinition } },
  'PUT /v1/pools/:pool': { body: { packing: true } },
  'PUT /v1/servers/:id/drain': { body: {} },
  'PUT /v1/costs/budgets/:scope/:name': { body: { amountUsd: '1' } },
  'PUT /v1/costs/centres/:project': { body: { costCentre: 'CC-1' } },
  'PUT /v1/costs/pools/:pool': { body: { fromDay: '2026-01-01', usdPerSlotHour: '0.1' } },
};
const idOf = (kind: keyof typeof idPrefixes): string => `${idPrefixes[kind]}_${'0'.repeat(26)}`;
const fills: Readonly<Record<string, string>> = {
  id: 'local',
  project: 'local',
  scope: 'project',
  name: 'TOKEN',
  agent: 'writer',
  skill: 'notes',
  pool: 'default',
  subject: 'somebody',
  object: idOf('object'),
  trigger: idOf('trigger'),
  hook: idOf('hook'),
  target: idOf('notifyTarget'),
};

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
  {
    path: '/v1/agents/writer/credentials/TOKEN',
    bodies: [{ value: 'the-first-value' }, { value: 'the-second-value' }],
    told: '/v1/agents/writer/credentials',
  },
] as const;

describe('settings that several people change', () => {
  let fleet: TestFleet;
  let dispatcher: TestDispatcher;
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lemniscate-versions-'));
    await writeFile(join(folder, 'key'), randomBytes(32).toString('base64'));
    fleet = await createTestFleet({ servers: [{ name: 'alpha', capacity: 2 }] });
    dispatcher = await fleet.startDispatcher({ LEMNISCATE_CREDENTIAL_KEY: join(folder, 'key') });
    const agent = { id: 'writer', project: 'local', definition: {} };
    assert.equal((await dispatcher.call('POST', '/v1/agents', agent)).status, 201);
  });
  after(async () => {
    await fleet.remove();
    await rm(folder, { recursive: true, force: true });
  });

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
      assert.equal(raced.filter(({ status }) => status === 412).length, 1);
      const lost = raced.find(({ status }) => status === 412)?.body;
      const version = await versionAt(told);
      assert.equal(lost?.code, 'version_conflict');
      assert.match(lost?.detail ?? '', new RegExp(`is at version ${version}, not 0`));
      const both = await Promise.all([put(path, first, version), put(path, second, version)]);
      assert.equal(both.filter(({ status }) => status < 300).length, 1);
      const later = await versionAt(told);
      assert.ok(later > version);
      if (!('removed' in more)) return;
      assert.equal((await put(path, more.removed, version)).status, 412);
      assert.equal((await put(path, more.removed, later)).status, 200);
      assert.equal((await put(path, first, 0)).status, 200);
      assert.ok(
        (await versionAt(told)) > later,
        'what is made again has no version that somebody saw before',
      );
    });

  const versioned = Object.keys(changeTable).filter((route) => typeof changeTable[route] === 'string');
  test(`${versioned.length} routes refuse a change that names no version, and do nothing`, async () => {
    const wrong: string[] = [];
    for (const route of versioned) {
      const [method = '', pattern = ''] = route.split(' ');
      const path = pattern.replaceAll(/:(\w+)/g, (_, name: string) =>
        name === 'scope' && pattern.includes('intake') ? 'fleet' : (fills[name] ?? assert.fail(name)),
      );
      const { body, query = '' } = wellFormed[route] ?? {};
      const { status, body: answer } = await dispatcher.call<{ code?: string; detail?: string } | null>(
        method,
        `${path}${query}`,
        body,
      );
      if (status !== 428 || answer?.code !== 'version_required' || !answer.detail?.includes('If-Match'))
        wrong.push(`${route}: ${status} ${JSON.stringify(answer)}`);
    }
    assert.deepEqual(wrong, []);
  });

  /** Asks twice at the same moment, each with what was seen. @returns both statuses, the smaller one first */
  const race = async (method: string, path: string, bodies: readonly unknown[], seen: number) => {
    const answers = await Promise.all(
      bodies.map((body) => dispatcher.call(method, path, body, { 'if-match': `"${seen}"` })),
    );
    return answers.map(({ status }) => status).toSorted((left, right) => left - right);
  };

  test('of two who bind or unbind at the same moment one does; what was bound anew is not unbound unseen', async () => {
    const path = '/v1/role-bindings';
    const remove = `${path}${asQuery(binding)}`;
    assert.deepEqual(await race('PUT', path, [binding, binding], 0), [204, 412]);
    const first = await versionAt(path);
    const repeated = await dispatcher.call('PUT', path, binding, { 'if-match': `"${first}"` });
    assert.deepEqual([repeated.status, await versionAt(path)], [204, first]);
    assert.equal((await race('DELETE', remove, [undefined, undefined], first)).includes(204), true);
    assert.deepEqual(await race('PUT', path, [binding], 0), [204]);
    assert.deepEqual(await race('DELETE', remove, [undefined], first), [412]);
    assert.deepEqual(await race('DELETE', remove, [undefined], await versionAt(path)), [204]);
    assert.deepEqual(await race('DELETE', remove, [undefined], first), [404]);
  });

  test('a pause is lifted by whoever saw it, and one that came after it stands', async () => {
    const path = '/v1/intake/fleet';
    const pause = (note: string) => dispatcher.call('PUT', path, { note });
    // to the safe side at once, by anybody who may, without a look before
    const both = await Promise.all([pause('first'), pause('second')]);
    assert.deepEqual(
      both.map(({ status }) => status),
      [200, 200],
    );
    const first = await versionAt('/v1/intake');
    assert.deepEqual(await race('DELETE', path, [undefined], first), [200]);
    await pause('the disks are changed');
    assert.deepEqual(await race('DELETE', path, [undefined], first), [412]);
    const { body } = await dispatcher.call<{ paused: { note: string; version: number }[] }>(
      'GET',
      '/v1/intake',
    );
    assert.deepEqual(
      body.paused.map(({ note }) => note),
      ['the disks are changed'],
    );
    assert.deepEqual(await race('DELETE', path, [undefined], body.paused[0]?.version ?? 0), [200]);
    assert.deepEqual(await race('DELETE', path, [undefined], first), [200], 'what was wanted is the case');
  });

  test('access is given back by whoever saw that it was taken, and not when it was taken anew', async () => {
    const path = '/v1/revocations/somebody';
    assert.equal((await dispatcher.call('PUT', path, {})).status, 200);
    const first = await versionAt('/v1/revocations');
    assert.deepEqual(await race('DELETE', path, [undefined], first), [204]);
    assert.equal((await dispatcher.call('PUT', path, { note: 'again' })).status, 200);
    assert.deepEqual(await race('DELETE', path, [undefined], first), [412]);
    assert.deepEqual(await race('DELETE', path, [undefined], await versionAt('/v1/revocations')), [204]);
  });

  test('of two operators who drain a server at the same moment one does; heartbeats are no change', async () => {
    const [drain, approval] = ['/v1/servers/alpha/drain', '/v1/servers/alpha/approval'];
    await within(30_000, 'the server is known', async () => {
      const { body } = await dispatcher.call<{ servers: { usable: number }[] }>('GET', '/v1/servers');
      return (body.servers[0]?.usable ?? 0) > 0;
    });
    const first = await versionAt('/v1/servers');
    await fleet.sql(`UPDATE agent_servers SET seen_at = now(), start_failures = 1`);
    assert.equal(await versionAt('/v1/servers'), first);
    const deadlines = [{ deadlineSeconds: 0 }, {}];
    assert.deepEqual(await race('PUT', drain, deadlines, first), [204, 412]);
    const drained = await versionAt('/v1/servers');
    assert.deepEqual(await race('DELETE', drain, [undefined], first), [412]);
    assert.deepEqual(await race('DELETE', drain, [undefined, undefined], drained), [204, 412]);
    // left alone since somebody looked: an approval would lift what nobody has seen
    const seen = await versionAt('/v1/servers');
    await fleet.sql(`UPDATE agent_servers SET excluded_until = now() + interval '1 minute'`);
    assert.deepEqual(await race('PUT', approval, [undefined], seen), [412]);
    assert.deepEqual(await race('PUT', approval, [undefined], await versionAt('/v1/servers')), [204]);
  });

  test('a link is taken away at the version that was seen', async () => {
    const path = '/v1/account-links?source=github&account=octo-pat';
    const version = await versionAt('/v1/account-links');
    assert.equal((await dispatcher.call('DELETE', path)).status, 428);
    const remove = (seen: number) =>
      dispatcher.call('DELETE', path, undefined, { 'if-match': `"${seen}"` }).then(({ status }) => status);
    assert.equal(await remove(version - 1), 412);
    assert.equal(await remove(version), 204);
    assert.equal(await remove(version), 404);
  });
});
