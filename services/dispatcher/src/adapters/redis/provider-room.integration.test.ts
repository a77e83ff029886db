import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { Redis } from 'ioredis';
import { systemClock } from '@lemniscate/shared/clock.ts';
import { createFairGate } from '../../application/gateway/fair-gate.ts';
import type { FairGate } from '../../application/gateway/fair-gate.ts';
import type { ProviderLimits } from '../../application/ports/model-provider.ts';
import { startOwnRedis } from '../../testing/own-redis.ts';
import type { OwnRedis } from '../../testing/own-redis.ts';
import { within } from '../../testing/within.ts';
import { callerOptions } from './connection.ts';
import { createSharedRooms } from './provider-room.ts';

describe('the limits of a provider among two gateways', () => {
  let own: OwnRedis;
  let closers: (() => void)[] = [];
  let holders = 0;
  const open = new AbortController().signal;
  before(async () => {
    own = await startOwnRedis();
  });
  beforeEach(() => own.flushAll());
  after(async () => {
    for (const close of closers) close();
    await own.remove();
  });

  /** A gateway with a connection of its own; it can die without a word. */
  function gateway(limits: ProviderLimits, holdMs = 60_000): FairGate & { die(): void } {
    const redis = new Redis(own.url.href, callerOptions);
    redis.on('error', () => undefined);
    const { rooms, close } = createSharedRooms(redis, 'test:room', holdMs);
    const die = (): void => {
      close();
      redis.disconnect();
    };
    closers.push(die);
    const gate = createFairGate({
      name: 'p',
      limits,
      clock: systemClock,
      shared: rooms('p', limits),
      newHolder: () => `holder_${(holders += 1)}`,
      log: { warn: () => undefined },
      waitMs: 60_000,
    });
    return { ...gate, die };
  }

  test('are one: never more are inside than the provider allows, and all come to their turn', async () => {
    const limits = { concurrency: 3 };
    const gates = [gateway(limits), gateway(limits)];
    let inside = 0;
    let most = 0;
    const exchange = async (gate: FairGate, party: string): Promise<void> => {
      const leave = await gate.enter(party, 1, open);
      inside += 1;
      most = Math.max(most, inside);
      await new Promise((resolve) => setImmediate(resolve));
      inside -= 1;
      leave(null);
    };
    await Promise.all(
      gates.flatMap((gate) => Array.from({ length: 20 }, (_, one) => exchange(gate, `party_${one % 4}`))),
    );
    assert.ok(most <= 3, `${most} were inside`);
    assert.ok(most > 1);
  });

  test('go round among the gateways: one with a long line does not keep another one out', async () => {
    const limits = { concurrency: 1 };
    const [busy, other] = [gateway(limits), gateway(limits)];
    // Connected before the line goes on: it would be over by then on a busy machine.
    (await other.enter('first', 1, open))(null);
    const order: string[] = [];
    const exchange = async (gate: FairGate, party: string): Promise<void> => {
      const leave = await gate.enter(party, 1, open);
      order.push(party);
      await new Promise((resolve) => setImmediate(resolve));
      leave(null);
    };
    const line = Array.from({ length: 60 }, () => exchange(busy, 'busy'));
    await line[0];
    const others = [exchange(other, 'other'), exchange(other, 'other')];
    await Promise.all([...line, ...others]);
    // The other's turns come while most of the line still waits, one after another one of the line.
    assert.ok(order.lastIndexOf('other') < 45, order.join(' '));
    assert.ok(order.lastIndexOf('other') - order.indexOf('other') > 1, order.join(' '));
  });

  test('a gateway that dies while it waits loses its turn', async () => {
    const limits = { concurrency: 1 };
    const [holding, dying, living] = [gateway(limits), gateway(limits), gateway(limits)];
    const leave = await holding.enter('a', 1, open);
    const turn = dying.enter('b', 1, open);
    // It has asked, and has the next turn.
    await assert.rejects(living.enter('c', 1, AbortSignal.timeout(300)), { name: 'TimeoutError' });
    dying.die();
    leave(null);
    (await living.enter('c', 1, open))(null);
    // By itself it goes on without Redis.
    (await turn)(null);
  });

  test('hold tokens of a minute together', async () => {
    const limits = { tokensPerMinute: 1_000 };
    const [one, other] = [gateway(limits), gateway(limits)];
    (await one.enter('a', 900, open))(null);
    await assert.rejects(other.enter('b', 900, AbortSignal.timeout(600)), { name: 'TimeoutError' });
    (await other.enter('b', 50, open))(null);
  });

  test('hear of each other what an exchange really used', async () => {
    const limits = { tokensPerMinute: 1_000 };
    const [one, other] = [gateway(limits), gateway(limits)];
    (await one.enter('a', 1_000, open))(100);
    (await other.enter('b', 800, open))(1_800);
    await assert.rejects(one.enter('c', 10, AbortSignal.timeout(600)), { name: 'TimeoutError' });
  });

  test('forget a gateway that died, and keep the places of one that lives', async () => {
    const limits = { concurrency: 1 };
    // The one that lives keeps its place each three seconds: a machine that stands still for as long costs none.
    const [dying, living] = [gateway(limits, 300), gateway(limits, 9_000)];
    await dying.enter('a', 1, open);
    dying.die();
    const leave = await living.enter('b', 1, open);
    const reader = new Redis(own.url.href);
    try {
      const heldUntil = async (): Promise<number> =>
        Number((await reader.zrange('test:room:{p}:holders', '0', '-1', 'WITHSCORES'))[1]);
      const first = await heldUntil();
      await within(30_000, 'it has said that it is inside', async () => (await heldUntil()) > first);
    } finally {
      reader.disconnect();
    }
    await assert.rejects(gateway(limits, 300).enter('c', 1, AbortSignal.timeout(300)), {
      name: 'TimeoutError',
    });
    leave(null);
  });

  test('are kept by each alone while Redis is away', async () => {
    const limits = { concurrency: 1 };
    const [one, other] = [gateway(limits), gateway(limits)];
    await one.enter('a', 1, open);
    await own.stop();
    try {
      await other.enter('b', 1, open);
      await assert.rejects(other.enter('c', 1, AbortSignal.timeout(500)), { name: 'TimeoutError' });
    } finally {
      await own.start();
    }
  });
});
