import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import type { InboxItem } from '@lemniscate/shared/api/inbox.ts';
import type { MessageView, TargetView } from '@lemniscate/shared/api/notify.ts';
import type { ObjectView } from '@lemniscate/shared/api/object.ts';
import type { Problem } from '@lemniscate/shared/errors/problem.ts';
import { beginSession, callTool, finishSession, orderOf } from './testing/played-session.ts';
import type { SimulatedAgentServer } from './testing/simulated-agent-server.ts';
import { createTestFleet, ordinaryRequest } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';
import { within } from './testing/within.ts';

interface Told {
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly message: { type: string; data: Record<string, string> };
}

describe('who is told of what happens', () => {
  let fleet: TestFleet;
  let dispatcher: TestDispatcher;
  let server: SimulatedAgentServer;
  let receiver: Server;
  let folder: string;
  let status = 200;
  const told: Told[] = [];
  before(async () => {
    receiver = createServer((request, response) => {
      void text(request).then((body) => {
        told.push({
          headers: request.headers as Record<string, string>,
          body,
          message: JSON.parse(body) as Told['message'],
        });
        response.writeHead(status).end();
      });
    });
    receiver.listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    folder = await mkdtemp(join(tmpdir(), 'lemniscate-notices-'));
    await writeFile(join(folder, 'key'), randomBytes(32).toString('base64'));
    fleet = await createTestFleet({ servers: [{ name: 'alpha', capacity: 20 }] });
    dispatcher = await fleet.startDispatcher({
      LEMNISCATE_CREDENTIAL_KEY: join(folder, 'key'),
      LEMNISCATE_NOTIFY_PRIVATE_HOSTS: `127.0.0.1:${(receiver.address() as AddressInfo).port}`,
    });
    const [first] = fleet.servers;
    assert.ok(first);
    server = first;
  });
  after(async () => {
    await fleet.remove();
    receiver.closeAllConnections();
    await new Promise((resolve) => receiver.close(resolve));
    await rm(folder, { recursive: true, force: true });
  });

  const url = () => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/in`;
  const makeTarget = async (events: string[], project = '*') => {
    const made = await dispatcher.call<TargetView & { secret: string } & Problem>(
      'POST',
      '/v1/notify-targets',
      {
        project,
        definition: { name: 'a target', place: { kind: 'webhook', url: url() }, events },
      },
    );
    assert.equal(made.status, 201, made.body.detail);
    return made.body;
  };
  const log = async (target: string) =>
    (await dispatcher.call<{ messages: MessageView[] }>('GET', `/v1/notify-targets/${target}/messages`)).body
      .messages;
  const openSession = async (more: object = {}) => {
    const opened = await dispatcher.call<{ id: string }>('POST', '/v1/sessions', {
      ...ordinaryRequest,
      ...more,
    });
    const order = await orderOf(server, opened.body.id);
    await beginSession(server, order);
    return order;
  };
  const remove = async (target: TargetView) => {
    const { body } = await dispatcher.call<{ targets: TargetView[] }>('GET', '/v1/notify-targets');
    const version = body.targets.find(({ id }) => id === target.id)?.version ?? 0;
    const headers = { 'if-match': `"${version}"` };
    const gone = await dispatcher.call('DELETE', `/v1/notify-targets/${target.id}`, undefined, headers);
    assert.equal(gone.status, 204);
  };

  test('every change of a session’s state is told once, signed', async () => {
    const target = await makeTarget(['session.state_changed']);
    const order = await openSession();
    await finishSession(server, order, 'Done.');
    const states = () =>
      told
        .filter(({ message }) => message.data['session'] === order.sessionId)
        .map(({ message }) => message.data['state']);
    // In no order: each message is sent for itself.
    await within(30_000, 'every state is told', () => states().length >= 3);
    assert.deepEqual(
      states().toSorted((one, other) => (one ?? '').localeCompare(other ?? '')),
      ['completed', 'running', 'starting'],
    );
    const checker = new Webhook(target.secret);
    for (const { body, headers } of told) checker.verify(body, headers);
    await within(30_000, 'the log says delivered', async () =>
      (await log(target.id)).every(({ state }) => state === 'delivered'),
    );
    const rows = await fleet.sql<{ line: string }>('SELECT t::text AS line FROM notify_targets t');
    assert.ok(rows.every(({ line }) => !line.includes(target.secret.slice(6))));
    await remove(target);
  });

  test('an approval that is wanted is told and lies in the inbox until it is decided', async () => {
    const target = await makeTarget(['approval.wanted'], 'local');
    const order = await openSession({ interactive: true });
    told.splice(0);
    const asked = await callTool(server, order, 'run_command', { command: 'rm -rf build' });
    assert.equal(asked.verdict, 'waiting');
    await within(30_000, 'the approval is told', () => told.length === 1);
    assert.deepEqual(
      [told[0]?.message.type, told[0]?.message.data['session'], told[0]?.message.data['tool']],
      ['approval.wanted', order.sessionId, 'run_command'],
    );
    const inbox = async () =>
      (await dispatcher.call<{ items: InboxItem[] }>('GET', '/v1/inbox?kind=approval')).body.items;
    const [item] = await inbox();
    assert.equal(item?.session, order.sessionId);
    await dispatcher.call('POST', `/v1/sessions/${order.sessionId}/stop`, {});
    await finishSession(server, order, 'Stopped.', 'stopped').catch(() => undefined);
    await within(30_000, 'the item is done', async () => (await inbox()).length === 0);
    await remove(target);
  });

  test('what fails is tried again later, is in the log with its reason, and can be sent again', async () => {
    const target = await makeTarget(['object.commented']);
    const { body: object } = await dispatcher.call<ObjectView>('POST', '/v1/objects', {
      project: 'local',
      title: 'T',
    });
    status = 503;
    told.splice(0);
    await dispatcher.call('POST', `/v1/objects/${object.id}/comments`, { body: 'Hello.' });
    const only = async () => (await log(target.id))[0];
    await within(30_000, 'it has failed once', async () => (await only())?.attempts.length === 1);
    const failed = await only();
    assert.deepEqual(
      [failed?.state, failed?.attempts[0]?.status, failed?.attempts[0]?.fault],
      ['pending', 503, 'It answered 503.'],
    );
    assert.ok(Date.parse(failed?.nextAt ?? '') > Date.parse(failed?.attempts[0]?.at ?? '') + 4_000);
    // As if all the time had passed that it waits in between.
    await fleet.sql(`UPDATE notices SET tries = 9, due_at = now() WHERE id = $1`, [failed?.id]);
    await within(30_000, 'it has failed for good', async () => (await only())?.state === 'failed');
    status = 200;
    const again = await dispatcher.call(
      'POST',
      `/v1/notify-targets/${target.id}/messages/${failed?.id}/resend`,
    );
    assert.equal(again.status, 202);
    await within(30_000, 'it is delivered', async () => (await only())?.state === 'delivered');
    assert.equal((await only())?.attempts.length, 3);
    assert.equal(new Set(told.map(({ headers }) => headers['webhook-id'])).size, 1, 'the same id each time');
    assert.equal(told.at(-1)?.message.data['body'], 'Hello.');
    status = 410;
    const tested = await dispatcher.call('POST', `/v1/notify-targets/${target.id}/test`);
    assert.equal(tested.status, 202);
    const acts = await fleet.sql<{ body: string }>(
      `SELECT convert_from(body, 'UTF8') AS body FROM audit_entries WHERE type = 'admin.acted' ORDER BY at`,
    );
    const ofTarget = acts.map(({ body }) => body).filter((body) => body.includes(target.id));
    assert.equal(ofTarget.length, 2);
    for (const act of ['message_resent', 'target_tested'])
      assert.ok(
        ofTarget.some((body) => body.includes(`"act":"${act}"`)),
        act,
      );
    await within(30_000, 'a receiver that wants no more is out of use', async () => {
      const { body } = await dispatcher.call<{ targets: TargetView[] }>('GET', '/v1/notify-targets');
      return body.targets.find(({ id }) => id === target.id)?.disabledReason === 'gone';
    });
    status = 200;
    await remove(target);
  });

  test('a budget that comes to its warning is told once', async () => {
    const target = await makeTarget(['budget.warning']);
    await dispatcher.call(
      'PUT',
      '/v1/costs/budgets/project/local',
      { amountUsd: '10' },
      { 'if-match': '"0"' },
    );
    told.splice(0);
    await fleet.sql(`UPDATE cost_budgets SET granted_usd = 9 WHERE scope = 'project' AND name = 'local'`);
    await within(30_000, 'the warning is told', () => told.length > 0);
    assert.deepEqual(
      told.map(({ message }) => [message.type, message.data['name'], message.data['amountUsd']]),
      [['budget.warning', 'local', '10']],
    );
    await remove(target);
  });

  test('an address inside is refused where the operator has not named it', async () => {
    const second = await fleet.startDispatcher({
      LEMNISCATE_CREDENTIAL_KEY: join(folder, 'key'),
      LEMNISCATE_NOTIFY_PRIVATE_HOSTS: 'other.example',
    });
    await dispatcher.stop();
    dispatcher = second;
    const target = await makeTarget(['test']);
    told.splice(0);
    await dispatcher.call('POST', `/v1/notify-targets/${target.id}/test`);
    await within(30_000, 'it was refused', async () => (await log(target.id))[0]?.attempts.length === 1);
    assert.match((await log(target.id))[0]?.attempts[0]?.fault ?? '', /LEMNISCATE_NOTIFY_PRIVATE_HOSTS/);
    assert.equal(told.length, 0);
  });
});
