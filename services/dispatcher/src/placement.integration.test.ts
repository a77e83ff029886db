import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import { createTestFleet, ordinaryRequest } from './testing/test-fleet.ts';
import type { TestDispatcher, TestFleet } from './testing/test-fleet.ts';
import { within } from './testing/within.ts';

describe('placing sessions', () => {
  let fleet: TestFleet;
  let dispatcher: TestDispatcher;
  before(async () => {
    fleet = await createTestFleet({ servers: [{ name: 'alpha', capacity: 50 }] });
    dispatcher = await fleet.startDispatcher();
  });
  after(() => fleet.remove());

  const create = async (extra: object = {}, headers: Record<string, string> = {}) =>
    dispatcher.call<SessionView>('POST', '/v1/sessions', { ...ordinaryRequest, ...extra }, headers);

  test('a session is placed on a server with the order that was asked for', async () => {
    const created = await create();
    assert.equal(created.status, 202, JSON.stringify(created.body));
    const view = await fleet.until(created.body.id, 'starting');
    assert.equal(view.server, 'alpha');
    await within(5_000, 'the order arrived', () => fleet.servers[0]?.held.has(created.body.id) ?? false);
    const order = fleet.servers[0]?.orders.find((each) => each.order.sessionId === created.body.id)?.order;
    assert.equal(order?.attempt, 1);
    assert.equal(order?.instruction, ordinaryRequest.instruction);
  });
});
