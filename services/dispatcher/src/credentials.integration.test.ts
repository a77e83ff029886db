import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { AgentView } from '@lemniscate/shared/api/agent.ts';
import type { CredentialView } from '@lemniscate/shared/api/credential.ts';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import type { Problem } from '@lemniscate/shared/errors/problem.ts';
import type { SimulatedAgentServer } from './testing/simulated-agent-server.ts';
import { createTestFleet, ordinaryRequest } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';
import { within } from './testing/within.ts';

const secret = 'the-value-of-the-credential';

describe('credentials of agents', () => {
  let fleet: TestFleet;
  let dispatcher: TestDispatcher;
  let server: SimulatedAgentServer;
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lemniscate-credentials-'));
    const keyFile = join(folder, 'key');
    await writeFile(keyFile, randomBytes(32).toString('base64'));
    fleet = await createTestFleet({ servers: [{ name: 'alpha', capacity: 1 }] });
    dispatcher = await fleet.startDispatcher({ LEMNISCATE_CREDENTIAL_KEY: keyFile });
    const [first] = fleet.servers;
    assert.ok(first);
    server = first;
    await dispatcher.call<AgentView>('POST', '/v1/agents', {
      id: 'publisher',
      project: '*',
      definition: { credentials: [{ name: 'DEPLOY_TOKEN', reference: 'vault:DEPLOY_TOKEN' }] },
    });
  });
  after(async () => {
    await fleet.remove();
    await rm(folder, { recursive: true, force: true });
  });

  const place = '/v1/agents/publisher/credentials';
  const set = async (value: string, name = 'DEPLOY_TOKEN') =>
    dispatcher.call<Problem>('PUT', `${place}/${name}`, { value }, await ofSeen(name));
  const ofSeen = async (name: string) => ({
    'if-match': `"${(await list()).find((one) => one.name === name)?.version ?? 0}"`,
  });
  const list = async () =>
    (await dispatcher.call<{ credentials: CredentialView[] }>('GET', place)).body.credentials;
  const open = () =>
    dispatcher.call<SessionView & Problem>('POST', '/v1/sessions', {
      ...ordinaryRequest,
      agent: 'publisher',
    });
  const allow = async (policy: string) => {
    const headers = {
      'if-match': `"${(await policyVersion()).toString()}"`,
      'content-type': 'application/yaml',
    };
    const changed = await dispatcher.call<Problem>('PUT', '/v1/projects/local/policy', policy, headers);
    assert.ok(changed.status < 300, JSON.stringify(changed.body));
  };
  const policyVersion = async () =>
    (await dispatcher.call<{ version: number }>('GET', '/v1/projects/local/policy')).body.version;
  /** Every row of every table as text. */
  const everything = async (): Promise<string> => {
    const tables = await fleet.sql<{ name: string }>(
      `SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) AS name FROM pg_tables
       WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
    );
    const rows: unknown[] = [];
    for (const { name } of tables)
      rows.push(await fleet.sql(`SELECT to_jsonb(t)::text AS row FROM ${name} t`));
    return JSON.stringify(rows);
  };

  test('a name that runs code and a short value are refused, and what else a definition may refer to', async () => {
    assert.equal((await set(secret, 'LD_PRELOAD')).status, 400);
    const short = await set('short');
    assert.equal(short.status, 400);
    assert.match(short.body.detail, /at least 8 characters/);
    for (const reference of ['env:AWS_SECRET_ACCESS_KEY', 'file:/etc/shadow', secret]) {
      const defined = await dispatcher.call<Problem>('POST', '/v1/agents', {
        id: 'thief',
        project: '*',
        definition: { credentials: [{ name: 'X', reference }] },
      });
      assert.equal(defined.status, 400, reference);
    }
  });

  test('a session needs the value and the policy’s word', async () => {
    const refused = await open();
    assert.deepEqual([refused.status, refused.body.code], [422, 'credential_refused']);
    await allow('credentials: [DEPLOY_TOKEN]');
    const missing = await open();
    assert.deepEqual([missing.status, missing.body.code], [422, 'credential_missing']);
  });

  test('what was set reaches the order of a session, and is nowhere in the record or any answer', async () => {
    assert.equal((await set('the first value of it')).status, 204);
    const [first] = await list();
    assert.equal((await set(secret)).status, 204);
    const [second, ...more] = await list();
    assert.deepEqual([second?.name, more], ['DEPLOY_TOKEN', []]);
    assert.ok((second?.version ?? 0) > (first?.version ?? Infinity));
    const stale = { 'if-match': `"${first?.version}"` };
    const late = await dispatcher.call('PUT', `${place}/DEPLOY_TOKEN`, { value: 'of somebody else' }, stale);
    assert.equal(late.status, 412, 'what somebody has set meanwhile is overwritten');
    const opened = await open();
    assert.equal(opened.status, 202, JSON.stringify(opened.body));
    const find = () => server.orders.find(({ order }) => order.sessionId === opened.body.id)?.order;
    await within(30_000, 'the session is ordered', () => find() !== undefined);
    assert.deepEqual(find()?.credentials, { DEPLOY_TOKEN: secret });
    await fleet.sql(`CREATE TABLE control AS SELECT '${secret}'::text AS found`);
    assert.ok((await everything()).includes(secret), 'the search finds what is there');
    await fleet.sql('DROP TABLE control');
    const all = await everything();
    assert.ok(!all.includes(secret) && !all.includes(Buffer.from(secret).toString('hex')));
    assert.ok(
      all.includes('credential.changed') || all.includes(Buffer.from('credential.changed').toString('hex')),
    );
    const view = await dispatcher.call('GET', `/v1/sessions/${opened.body.id}`);
    assert.ok(!JSON.stringify(view.body).includes(secret));
  });

  test('removed while a session waits for its turn, it ends that session at its start and says so', async () => {
    const waiting = await open();
    assert.equal(waiting.status, 202);
    const remove = async (headers: Record<string, string>) =>
      (await dispatcher.call('DELETE', `${place}/DEPLOY_TOKEN`, undefined, headers)).status;
    const seen = await ofSeen('DEPLOY_TOKEN');
    assert.equal(await remove({ 'if-match': '"0"' }), 412);
    assert.equal(await remove(seen), 204);
    assert.equal(await remove(seen), 404);
    assert.deepEqual(await list(), []);
    for (const { order } of server.orders)
      await dispatcher.call('POST', `/v1/sessions/${order.sessionId}/stop`);
    const ended = await fleet.until(waiting.body.id, 'failed');
    assert.equal(ended.reason, 'start_failed');
    assert.match(ended.message ?? '', /DEPLOY_TOKEN/);
  });
});
