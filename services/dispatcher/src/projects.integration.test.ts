import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { usualBounds } from '@lemniscate/shared/policy/policy-parts.ts';
import type { PolicyVersion } from '@lemniscate/shared/api/project.ts';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import type { Problem } from '@lemniscate/shared/errors/problem.ts';
import { contentVersion } from './application/content-version.ts';
import { createTestFleet, ordinaryRequest } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';

describe('projects and their policies', () => {
  let fleet: TestFleet;
  let folder: string;
  let dispatcher: TestDispatcher;
  let file: string;
  before(async () => {
    fleet = await createTestFleet({ servers: [{ name: 'alpha', capacity: 50 }] });
    folder = await mkdtemp(join(tmpdir(), 'lemniscate-policy-'));
    file = join(folder, 'policy.yaml');
    await writeFile(file, 'tools: {read_file: allow}\n');
    dispatcher = await fleet.startDispatcher({
      LEMNISCATE_DEFAULT_POLICY: file,
      LEMNISCATE_SESSION_MAX_ACTIONS: '77',
    });
  });
  after(async () => {
    await fleet.remove();
    await rm(folder, { recursive: true, force: true });
  });

  const read = async (project: string) =>
    (await dispatcher.call<PolicyVersion>('GET', `/v1/projects/${project}/policy`)).body;
  const put = (project: string, text: string, seen: string | null, type = 'application/yaml') =>
    dispatcher.call<PolicyVersion & Problem>('PUT', `/v1/projects/${project}/policy`, text, {
      'content-type': type,
      ...(seen === null ? {} : { 'if-match': seen }),
    });
  const create = (id: string, policy?: string) =>
    dispatcher.call<PolicyVersion & Problem>('POST', '/v1/projects', { id, policy });

  for (const [what, change, other] of [
    ['queue', { weight: 3 }, { maxConcurrent: 2 }],
    ['retention', { logs: 7 }, { diffs: 30 }],
  ] as const)
    test(`settings (${what}) have an ETag: a change that names what it saw is held against it`, async () => {
      await create(`settled-${what}`);
      const path = `/v1/projects/settled-${what}/${what}`;
      const etag = async () => {
        const answer = await fetch(`http://127.0.0.1:${dispatcher.publicPort}${path}`, {
          headers: { authorization: `Bearer ${fleet.token}` },
        });
        await answer.body?.cancel();
        return answer.headers.get('etag') ?? '';
      };
      const write = (body: object, seen: string) =>
        dispatcher.call<Problem>('PUT', path, body, { 'if-match': seen });
      const seen = await etag();
      assert.match(seen, /^"[0-9a-f]{32}"$/);
      assert.equal((await write(change, seen)).status, 200);
      assert.notEqual(await etag(), seen);
      const late = await write(other, seen);
      assert.deepEqual([late.status, late.body.code], [412, 'version_conflict']);
      assert.equal((await write(other, '"3"')).status, 428);
      assert.equal((await write(other, '*')).status, 428, 'who does not say what they saw');
      assert.equal((await write(other, await etag())).status, 200);
      const unsaid = await dispatcher.call<Problem>('PUT', path, change);
      assert.deepEqual([unsaid.status, unsaid.body.code], [428, 'version_required']);
    });

  test('of changes of queue settings at the same moment one is taken, and the others are told', async () => {
    await create('busy');
    const path = '/v1/projects/busy/queue';
    const changes = [{ weight: 5 }, { maxConcurrent: 4 }, { maxBacklog: 99 }, { maxWaitSeconds: 77 }];
    const look = () => dispatcher.call<Record<string, unknown>>('GET', path);
    const etag = `"${contentVersion((await look()).body)}"`;
    const answers = await Promise.all(
      changes.map((change) => dispatcher.call('PUT', path, change, { 'if-match': etag })),
    );
    const statuses = answers.map(({ status }) => status).toSorted((one, other) => one - other);
    assert.deepEqual(statuses, [200, 412, 412, 412]);
    const won = changes[answers.findIndex(({ status }) => status === 200)] ?? {};
    assert.partialDeepStrictEqual((await look()).body, won);
  });

  test('a policy has versions, each change names the one it saw and is audited', async () => {
    const made = await create('shop', 'budgets: {maxMinutes: 5}\n');
    assert.equal(made.status, 201);
    assert.equal(made.body.version, 1);
    assert.deepEqual(made.body.policy['budgets'], {
      ...usualBounds,
      maxActions: 77,
      maxMinutes: 5,
      maxExtensions: 5,
      unpricedModels: 'allow',
    });
    assert.equal((await create('shop')).status, 409);
    assert.equal((await create('../etc')).status, 400);

    assert.deepEqual(
      [(await put('shop', '', null)).status, (await put('shop', '', 'W/"1"')).status],
      [428, 428],
    );
    const changed = await put('shop', '# ours\nexecution: server\n', '"1"');
    assert.deepEqual([changed.status, changed.body.version], [200, 2]);
    assert.match(changed.body.written ?? '', /# ours/);
    const late = await put('shop', 'execution: either', '"1"');
    assert.deepEqual([late.status, late.body.code], [412, 'version_conflict']);
    assert.equal((await put('shop', '{"execution":"server"}', '"2"', 'application/json')).body.version, 2);
    const faulty = await put('shop', 'tools:\n  run_command: maybe\n', '"2"');
    assert.equal(faulty.status, 400);
    assert.match(faulty.body.detail, /line 2, tools\.run_command/);
    assert.equal((await put('nowhere', '', '"1"')).body.code, 'project_unknown');

    const first = await dispatcher.call<PolicyVersion>('GET', '/v1/projects/shop/policies/1');
    assert.equal(first.body.written, 'budgets: {maxMinutes: 5}\n');
    assert.equal((await dispatcher.call('GET', '/v1/projects/shop/policies/9')).status, 404);
    const entries = await fleet.sql<{ type: string; before: string | null }>(
      `SELECT type, convert_from(body, 'UTF8')::jsonb -> 'body' ->> 'beforeDigest' AS before
       FROM audit_entries WHERE chain = 'review:shop' AND type = 'policy.changed' ORDER BY seq`,
    );
    assert.deepEqual(
      entries.map((entry) => entry.before),
      [null, made.body.digest],
    );
  });

  test('of two changes at the same moment one wins', async () => {
    await create('raced');
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => put('raced', `budgets: {maxMinutes: ${index + 1}}`, '"1"')),
    );
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    assert.equal(answers.filter(({ status }) => status === 412).length, 7);
    assert.equal((await read('raced')).version, 2);
  });

  test('a session keeps the policy that it froze; the next one gets the new one and is checked against it', async () => {
    await create('frozen');
    const open = (extra: object = {}) =>
      dispatcher.call<SessionView & Problem>('POST', '/v1/sessions', {
        ...ordinaryRequest,
        project: 'frozen',
        ...extra,
      });
    const before = await open();
    const { digest } = await read('frozen');
    assert.equal(before.body.policyDigest, digest);
    await put('frozen', 'execution: workstation\nmodels: [some-other-model]\n', '"1"');
    assert.equal((await fleet.session(before.body.id)).policyDigest, digest);
    assert.equal((await open()).body.code, 'model_unknown');
    await put('frozen', 'execution: workstation\n', '"2"');
    assert.equal((await open()).body.code, 'execution_refused');
    await put('frozen', 'runtimes: [codex]\n', '"3"');
    assert.equal((await open()).body.code, 'runtime_unknown');
  });

  test('a restart leaves what an administrator changed, until the fleet’s file itself says something new', async () => {
    assert.equal((await read('local')).origin, 'file');
    const changed = await put('local', 'tools: {read_file: ask}', `"${(await read('local')).version}"`);
    assert.equal(changed.status, 200);
    const restart = async () => {
      const again = await fleet.startDispatcher({
        LEMNISCATE_DEFAULT_POLICY: file,
        LEMNISCATE_SESSION_MAX_ACTIONS: '77',
      });
      await again.stop();
    };
    await restart();
    assert.equal((await read('local')).digest, changed.body.digest);
    await writeFile(file, 'tools: {read_file: exclude}\n');
    await restart();
    assert.equal((await read('local')).origin, 'file');
  });

  test('the list and the schema', async () => {
    const list = await dispatcher.call<{ projects: { id: string }[] }>('GET', '/v1/projects');
    assert.ok(list.body.projects.some(({ id }) => id === 'local'));
    const schema = await dispatcher.call<{ properties: object }>('GET', '/v1/policy-schema');
    assert.ok('fourEyes' in schema.body.properties);
  });
});
