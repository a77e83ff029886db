import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { pino } from 'pino';
import { startOwnRedis } from '../../testing/own-redis.ts';
import type { OwnRedis } from '../../testing/own-redis.ts';
import { createRedisServerLines } from './server-lines.ts';
import type { RedisServerLines } from './server-lines.ts';

describe('lines to servers that fetch what they are asked', () => {
  let own: OwnRedis;
  /** Two dispatchers: a server reaches whichever the balancer gives it. */
  let asker: RedisServerLines;
  let reached: RedisServerLines;
  let ids = 0;
  const open = (): RedisServerLines =>
    createRedisServerLines({
      url: own.url,
      log: pino({ level: 'silent' }),
      newId: () => `r${(ids += 1)}`,
    });
  before(async () => {
    own = await startOwnRedis();
    asker = open();
    reached = open();
  });
  after(async () => {
    asker.close();
    reached.close();
    await own.remove();
  });

  const forever = new AbortController().signal;
  const remove = (sessionId: string) => ({ kind: 'remove', sessionId, attempt: 1 }) as const;

  test('a request meets its server, whichever dispatcher it has reached, before or after it asked', async () => {
    for (const first of ['server', 'asker'] as const) {
      const asked = first === 'asker' ? asker.ask('ws-1', remove(first), 5_000) : null;
      const fetching = reached.next('ws-1', 5_000, forever);
      const answered = asked ?? asker.ask('ws-1', remove(first), 5_000);
      const [request] = await fetching;
      assert.deepEqual(request, { ...remove(first), id: request?.id });
      await reached.answer('ws-1', { id: request?.id ?? '', status: 202 });
      assert.equal((await answered).status, 202);
    }
  });

  test('nobody else hears it, and nobody else answers it', async () => {
    const asked = asker.ask('ws-1', remove('mine'), 600);
    const refusal = assert.rejects(asked, { code: 'service_unreachable' });
    assert.deepEqual(await reached.next('ws-2', 50, forever), []);
    const [request] = await reached.next('ws-1', 5_000, forever);
    await reached.answer('ws-2', { id: request?.id ?? '', status: 202 });
    await refusal;
  });

  test('what nobody fetched in time is not heard later', async () => {
    await assert.rejects(asker.ask('ws-3', remove('late'), 50), {
      code: 'service_unreachable',
      message: /did not fetch/,
    });
    assert.deepEqual(await reached.next('ws-3', 50, forever), []);
  });

  test('a server that hangs up is not waited for, and misses nothing', async () => {
    const gone = new AbortController();
    const left = reached.next('ws-4', 60_000, gone.signal);
    gone.abort();
    assert.deepEqual(await left, []);
    const asked = asker.ask('ws-4', remove('next'), 5_000);
    const [request] = await reached.next('ws-4', 5_000, forever);
    await reached.answer('ws-4', { id: request?.id ?? '', status: 202 });
    assert.equal((await asked).status, 202);
  });

  test('so many wait and no more', async () => {
    const asked = Array.from({ length: 33 }, (_, index) => asker.ask('ws-5', remove(`s${index}`), 1_000));
    const ends = await Promise.allSettled(asked);
    const whys = ends.map((end) => (end.status === 'rejected' ? String(end.reason) : 'answered'));
    assert.equal(whys.filter((why) => /too much waits/.test(why)).length, 1);
    assert.equal(whys.filter((why) => /did not fetch/.test(why)).length, 32);
  });
});
