import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { DeliveryView } from '@lemniscate/shared/api/delivery.ts';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import type { TriggerView } from '@lemniscate/shared/api/trigger.ts';
import { beginSession, finishSession, orderOf } from './testing/played-session.ts';
import type { SimulatedAgentServer } from './testing/simulated-agent-server.ts';
import { createTestFleet, ordinaryRequest } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';
import { within } from './testing/within.ts';

describe('what starts by itself, in a fleet that is full', () => {
  let fleet: TestFleet;
  let dispatcher: TestDispatcher;
  let server: SimulatedAgentServer;
  before(async () => {
    fleet = await createTestFleet({ servers: [{ name: 'alpha', capacity: 1 }] });
    dispatcher = await fleet.startDispatcher();
    const [first] = fleet.servers;
    assert.ok(first);
    server = first;
    assert.equal((await dispatcher.call('POST', '/v1/projects', { id: 'lab' })).status, 201);
    const repository = { kind: 'git', url: 'https://example.invalid/r.git' };
    await dispatcher.call('PUT', '/v1/projects/lab/workspace', { repository }, { 'if-match': '"0"' });
    const agent = { id: 'fixer', project: 'lab', definition: {} };
    assert.equal((await dispatcher.call('POST', '/v1/agents', agent)).status, 201);
  });
  after(() => fleet.remove());

  const open = async (): Promise<string> => {
    const request = { ...ordinaryRequest, project: 'lab' };
    const { status, body } = await dispatcher.call<SessionView>('POST', '/v1/sessions', request);
    assert.equal(status, 202, JSON.stringify(body));
    return body.id;
  };
  const makeTrigger = async (when: object): Promise<TriggerView> => {
    const definition = { name: 'a trigger', agent: 'fixer', task: 'Look into it.', when };
    const made = await dispatcher.call<TriggerView>('POST', '/v1/triggers', { project: 'lab', definition });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    return made.body;
  };
  /** Each hour is a time of its own: one that has fired does not fire again. */
  const makeDue = ({ id }: TriggerView, hoursAgo: number) =>
    fleet.sql(
      `UPDATE triggers SET next_slot = now() - interval '25 hours', definition = jsonb_set(definition, '{when,pattern}',
         to_jsonb(to_char(now() - make_interval(hours => $2), 'MI HH24 * * *'))) WHERE id = $1`,
      [id, hoursAgo],
    );
  let events = 0;
  const sendEvent = async (): Promise<void> => {
    events += 1;
    const event = { specversion: '1.0', id: `e${events}`, source: '/ci', type: 'org.example.failed' };
    const { status } = await dispatcher.call('POST', '/v1/events?project=lab', event);
    assert.equal(status, 202);
  };
  const deliveriesOf = async ({ id }: TriggerView): Promise<DeliveryView[]> => {
    const path = `/v1/deliveries?limit=100&trigger=${id}`;
    return (await dispatcher.call<{ deliveries: DeliveryView[] }>('GET', path)).body.deliveries;
  };
  /** The newest delivery of a trigger, once it is in the state. */
  const newest = async (trigger: TriggerView, count: number, state: string): Promise<DeliveryView> => {
    let found: DeliveryView | undefined;
    await within(30_000, `delivery ${count} of ${trigger.id} is ${state}`, async () => {
      const all = await deliveriesOf(trigger);
      [found] = all;
      return all.length === count && found?.state === state;
    });
    assert.ok(found);
    return found;
  };
  const tried = ({ id }: DeliveryView, times: number) =>
    within(30_000, `delivery ${id} was tried`, async () => {
      const [row] = await fleet.sql<{ attempts: number }>('SELECT attempts FROM deliveries WHERE id = $1', [
        id,
      ]);
      return (row?.attempts ?? 0) >= times;
    });
  const finish = async (session: string): Promise<void> => {
    const order = await orderOf(server, session);
    await beginSession(server, order);
    await finishSession(server, order, 'Done.');
    server.drop(session);
    await server.heartbeat();
  };

  test('a schedule and a trigger wait behind a full backlog like everyone, and at its bound a clear answer says so', async () => {
    const schedule = await makeTrigger({ kind: 'cron', pattern: '0 9 * * *', misfire: 'once' });
    const trigger = await makeTrigger({ kind: 'event', filters: [{ prefix: { type: 'org.example.' } }] });
    const running = await open();
    await orderOf(server, running);
    const people = [await open(), await open()];

    await makeDue(schedule, 2);
    const scheduled = (await newest(schedule, 1, 'started')).session ?? '';
    await sendEvent();
    const triggered = (await newest(trigger, 1, 'started')).session ?? '';
    // No way of their own past those who came before them.
    const waiting = [...people, scheduled, triggered];
    for (const [index, id] of waiting.entries()) {
      const { state, queue } = await fleet.session(id);
      assert.deepEqual([id, state, queue?.position], [id, 'pending', index + 1]);
    }
    assert.equal(server.orders.length, 1);

    await fleet.sql(`UPDATE projects SET max_backlog = $1 WHERE id = 'lab'`, [waiting.length]);
    const refused = await dispatcher.call<{ code: string }>('POST', '/v1/sessions', {
      ...ordinaryRequest,
      project: 'lab',
    });
    assert.deepEqual([refused.status, refused.body.code], [429, 'backlog_full']);
    await makeDue(schedule, 1);
    const late = await newest(schedule, 2, 'pending');
    await tried(late, 1);
    assert.equal((await newest(schedule, 2, 'pending')).session, null);

    // Room for one: the wish that waits outside takes it with its next try, at the end of the backlog.
    await finish(running);
    await orderOf(server, people[0] ?? '');
    await fleet.sql('UPDATE deliveries SET due_at = now() WHERE id = $1', [late.id]);
    waiting.push((await newest(schedule, 2, 'started')).session ?? '');

    await sendEvent();
    const outside = await newest(trigger, 2, 'pending');
    await tried(outside, 1);
    // As if its further tries had found the backlog full as well.
    await fleet.sql('UPDATE deliveries SET attempts = 5, due_at = now() WHERE id = $1', [outside.id]);
    const { reason, message, session } = await newest(trigger, 2, 'refused');
    assert.deepEqual([reason, session], ['session_refused', null]);
    assert.match(message ?? '', /"lab" has 4 sessions waiting already[^]*\[backlog_full\]$/);

    for (const id of waiting) await finish(id);
    assert.deepEqual(
      server.orders.map(({ order }) => order.sessionId),
      [running, ...waiting],
    );
  });
});
