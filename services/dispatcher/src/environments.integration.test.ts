import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { EnvironmentView } from '@lemniscate/shared/api/environment.ts';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import type { Problem } from '@lemniscate/shared/errors/problem.ts';
import type { ResolvedEnvironment } from '@lemniscate/shared/protocol/environment.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import type { UploadAnswer } from '@lemniscate/shared/protocol/session-result.ts';
import type { SimulatedAgentServer } from './testing/simulated-agent-server.ts';
import { createTestFleet, ordinaryRequest } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';
import { within } from './testing/within.ts';

const commit = 'c'.repeat(40);
const keyOf = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('environments of projects', () => {
  let fleet: TestFleet;
  let dispatcher: TestDispatcher;
  let server: SimulatedAgentServer;
  before(async () => {
    fleet = await createTestFleet({ servers: [{ name: 'alpha', capacity: 50 }] });
    dispatcher = await fleet.startDispatcher();
    const [first] = fleet.servers;
    assert.ok(first);
    server = first;
  });
  after(() => fleet.remove());

  let projects = 0;
  const project = async (environment: string): Promise<string> => {
    const id = `p${(projects += 1)}`;
    const policy = `environment: {prepare: "npm ci", egress: [npm.example.org], ${environment}}`;
    const created = await dispatcher.call<Problem>('POST', '/v1/projects', { id, policy });
    assert.equal(created.status, 201, JSON.stringify(created.body));
    return id;
  };
  const open = async (id: string): Promise<string> => {
    const opened = await dispatcher.call<SessionView>('POST', '/v1/sessions', {
      ...ordinaryRequest,
      project: id,
    });
    assert.equal(opened.status, 202, JSON.stringify(opened.body));
    return opened.body.id;
  };
  const orderOf = async (id: string, attempt = 1): Promise<SessionOrder> => {
    const find = () =>
      server.orders.find(({ order }) => order.sessionId === id && order.attempt === attempt)?.order;
    await within(30_000, `attempt ${attempt} of session ${id} is ordered`, () => find() !== undefined);
    const order = find();
    assert.ok(order);
    return order;
  };
  const say = ({ sessionId, attempt }: SessionOrder, what: string, body: object) =>
    server.post(`/internal/sessions/${sessionId}/attempts/${attempt}/${what}`, body);
  const resolve = async (order: SessionOrder, key: string): Promise<ResolvedEnvironment> => {
    const answer = await say(order, 'environment', { key, commit });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body as ResolvedEnvironment;
  };
  const list = async (id: string): Promise<EnvironmentView[]> =>
    (await dispatcher.call<{ environments: EnvironmentView[] }>('GET', `/v1/projects/${id}/environments`))
      .body.environments;
  const finish = async (order: SessionOrder, result: object) => {
    const running = { type: 'running', driver: 'simulated', warm: true, timingsMs: {} };
    await say(order, 'events', { firstSeq: 1, events: [{ at: new Date().toISOString(), event: running }] });
    const usual = { reason: 'finished', message: 'Done.', diff: null, patch: null, timingsMs: {} };
    return say(order, 'result', { ...usual, ...result });
  };
  const store = async (order: SessionOrder, text: string) => {
    const archive = { sha256: keyOf(text), bytes: Buffer.byteLength(text) };
    const { put, uploadId } = (await say(order, 'uploads', archive)).body as UploadAnswer;
    assert.ok(put);
    assert.equal((await fetch(put.url, { method: 'PUT', headers: put.headers, body: text })).status, 200);
    assert.equal((await say(order, `uploads/${uploadId}/complete`, {})).status, 200);
    return archive;
  };
  const chainOf = async (chain: string): Promise<string[]> => {
    const rows = await fleet.sql<{ type: string }>(
      'SELECT type FROM audit_entries WHERE chain = $1 ORDER BY seq',
      [chain],
    );
    return rows.map(({ type }) => type);
  };

  test('a missing one is built by a session of its own, while those that need it wait without a slot', async () => {
    const id = await project('onMissing: build');
    const [one, two] = [await open(id), await open(id)];
    const key = keyOf('first');
    const first = await orderOf(one);
    assert.deepEqual(first.environment?.prepare, 'npm ci');
    assert.ok(first.environment?.lockfiles.includes('package-lock.json'));
    assert.deepEqual(
      [first.build, first.egress],
      [undefined, undefined],
      'the session itself has no network',
    );
    assert.deepEqual(await resolve(first, key), { kind: 'parked' });
    assert.deepEqual(await resolve(await orderOf(two), key), { kind: 'parked' });
    const [building, ...others] = await list(id);
    assert.ok(building);
    assert.deepEqual(others, [], 'one build for both');
    assert.deepEqual([building.state, building.key, building.cause], ['building', key, 'session']);
    const parked = await fleet.session(one);
    assert.equal(parked.state, 'pending');
    assert.match(parked.message ?? '', /missing.*env_/);
    const order = await orderOf(building.session);
    assert.equal(order.build?.environmentId, building.id);
    assert.deepEqual(order.egress, ['npm.example.org']);
    assert.deepEqual(order.repository, { ...ordinaryRequest.repository, revision: commit });
    const stranger = await finish(order, {
      environment: { key, archive: { sha256: keyOf('elsewhere'), bytes: 9 }, installed: [] },
    });
    assert.equal((stranger.body as Problem).code, 'not_found', 'an archive that is not stored');
    const archive = await store(order, 'the archive');
    const installed = ['node_modules'];
    assert.equal((await finish(order, { environment: { key, archive, installed } })).status, 200);
    assert.deepEqual(
      (await list(id)).map(({ state, bytes }) => [state, bytes]),
      [['ready', archive.bytes]],
    );
    for (const session of [one, two]) {
      const again = await orderOf(session, 2);
      const ready = await resolve(again, key);
      assert.equal(ready.kind, 'ready');
      if (ready.kind !== 'ready') return;
      assert.equal(await (await fetch(ready.archive.url)).text(), 'the archive');
      assert.deepEqual(ready.installed, installed);
    }
    const session = await chainOf(`session:${one}`);
    assert.ok(
      session.includes('environment.awaited') && session.includes('environment.used'),
      session.join(' '),
    );
    const review = await chainOf(`review:${id}`);
    assert.ok(
      review.includes('environment.requested') && review.includes('environment.built'),
      review.join(' '),
    );
    const other = await project('onMissing: wait');
    assert.deepEqual(
      await resolve(await orderOf(await open(other)), key),
      { kind: 'parked' },
      'another project has none of it',
    );
  });

  test('a build that fails ends those that wait, with its last lines; a later one may try again', async () => {
    const id = await project('onMissing: build');
    const session = await open(id);
    const key = keyOf('broken');
    await resolve(await orderOf(session), key);
    const [building] = await list(id);
    assert.ok(building);
    const order = await orderOf(building.session);
    await finish(order, { reason: 'environment_failed', message: 'Last lines:\nno such package' });
    const ended = await fleet.session(building.session);
    assert.deepEqual([ended.state, ended.reason], ['failed', 'environment_failed']);
    const told = await resolve(await orderOf(session, 2), key);
    assert.equal(told.kind, 'failed');
    assert.match(told.kind === 'failed' ? told.message : '', /no such package/);
    assert.equal((await list(id))[0]?.state, 'failed');
    await fleet.sql(`UPDATE environments SET ended_at = now() - interval '11 minutes' WHERE id = $1`, [
      building.id,
    ]);
    const later = await orderOf(await open(id));
    assert.equal((await resolve(later, key)).kind, 'parked', 'a new build');
    assert.equal((await list(id)).length, 2);
  });

  test('a build whose servers differ, or whose session is stopped, has failed', async () => {
    const id = await project('onMissing: build');
    const session = await open(id);
    const key = keyOf('wanted');
    await resolve(await orderOf(session), key);
    const [building] = await list(id);
    assert.ok(building);
    const order = await orderOf(building.session);
    const archive = await store(order, 'another archive');
    await finish(order, { environment: { key: keyOf('other'), archive, installed: [] } });
    assert.match((await list(id))[0]?.message ?? '', /different images/);
    const stopped = await project('onMissing: build');
    await resolve(await orderOf(await open(stopped)), key);
    const [second] = await list(stopped);
    assert.ok(second);
    await dispatcher.call('POST', `/v1/sessions/${second.session}/stop`);
    assert.equal((await list(stopped))[0]?.state, 'failed');
  });

  test('the policy may say to go on without, or to wait for somebody else’s build', async () => {
    const proceeding = await project('onMissing: proceed');
    const session = await open(proceeding);
    const answer = await resolve(await orderOf(session), keyOf('none'));
    assert.equal(answer.kind, 'without');
    assert.match(answer.kind === 'without' ? answer.why : '', /missing/);
    assert.deepEqual(await list(proceeding), [], 'nobody builds');
    assert.ok((await chainOf(`session:${session}`)).includes('environment.skipped'));

    const waiting = await project('onMissing: wait, waitMinutes: 5');
    const [patient, late] = [await open(waiting), await open(waiting)];
    const key = keyOf('awaited');
    await resolve(await orderOf(patient), key);
    await resolve(await orderOf(late), keyOf('never built'));
    assert.deepEqual(await list(waiting), []);
    await fleet.sql(`UPDATE sessions SET queued_at = now() - interval '6 minutes' WHERE id = $1`, [late]);
    const ended = await fleet.until(late, 'failed');
    assert.equal(ended.reason, 'environment_failed');
    const asked = await dispatcher.call<EnvironmentView>('POST', `/v1/projects/${waiting}/environments`, {
      repository: ordinaryRequest.repository,
    });
    assert.deepEqual([asked.status, asked.body.cause, asked.body.key], [202, 'person', null]);
    const order = await orderOf(asked.body.session);
    const archive = await store(order, 'by a person');
    await finish(order, { environment: { key, archive, installed: [] } });
    assert.equal((await resolve(await orderOf(patient, 2), key)).kind, 'ready');
  });

  test('an old one is renewed by the schedule, and is stale when that has not happened', async () => {
    const id = await project('onMissing: proceed, rebuildEveryHours: 24');
    const asked = await dispatcher.call<EnvironmentView>('POST', `/v1/projects/${id}/environments`, {
      repository: ordinaryRequest.repository,
    });
    const order = await orderOf(asked.body.session);
    const key = keyOf('aging');
    const archive = await store(order, 'aging archive');
    await finish(order, { environment: { key, archive, installed: [] } });
    assert.equal((await resolve(await orderOf(await open(id)), key)).kind, 'ready');
    await fleet.sql(
      `UPDATE environments SET ended_at = now() - interval '49 hours', started_at = now() - interval '50 hours'
       WHERE id = $1`,
      [asked.body.id],
    );
    const stale = await resolve(await orderOf(await open(id)), key);
    assert.match(stale.kind === 'without' ? stale.why : '', /stale/);
    await within(30_000, 'the schedule has begun a build', async () => (await list(id)).length === 2);
    const [renewed] = await list(id);
    assert.deepEqual([renewed?.cause, renewed?.key, renewed?.state], ['schedule', key, 'building']);
  });

  test('a policy that names a branch, a path upwards or a variable that runs code is refused', async () => {
    for (const environment of [
      'prepare: {file: a.sh, revision: main}',
      'prepare: true, lockfiles: ["../secret"]',
      'prepare: "x", variables: {LD_PRELOAD: /x}',
      'prepare: "x", egress: ["10.0.0.1"]',
    ]) {
      const refused = await dispatcher.call<Problem>('POST', '/v1/projects', {
        id: 'refused',
        policy: `environment: {${environment}}`,
      });
      assert.equal(refused.status, 400, environment);
    }
    const without = await dispatcher.call<Problem>('POST', '/v1/projects/local/environments', {
      repository: ordinaryRequest.repository,
    });
    assert.equal(without.body.code, 'conflict');
  });
});
