import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Redis } from 'ioredis';
import { startOwnRedis } from '../../testing/own-redis.ts';
import type { OwnRedis } from '../../testing/own-redis.ts';
import { within } from '../../testing/within.ts';
import { writeOnceATurn } from './one-write.ts';

let own: OwnRedis;
before(async () => {
  own = await startOwnRedis();
});
after(() => own.remove());

/** Reads of the server's side: each is one write of ours, as long as it comes alone. */
async function readsOf(redis: Redis): Promise<number> {
  return Number(/total_reads_processed:(\d+)/.exec(await redis.info('stats'))?.[1]);
}

test('commands of one turn are one write, also on a connection that came back', async () => {
  const watch = new Redis(own.url.href);
  const plain = new Redis(own.url.href);
  const joined = new Redis(own.url.href, { retryStrategy: () => 10 });
  joined.on('error', () => undefined);
  writeOnceATurn(joined);
  const cost = async (redis: Redis): Promise<number> => {
    await redis.ping();
    const from = await readsOf(watch);
    await Promise.all(
      Array.from({ length: 50 }, async (_, number) =>
        assert.equal(await redis.incrby('n', 0), 0, `${number}`),
      ),
    );
    return (await readsOf(watch)) - from;
  };
  try {
    const apart = await cost(plain);
    const together = await cost(joined);
    assert.ok(together < apart / 3, `${together} reads for what were ${apart}`);
    await watch.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await within(30_000, 'it is back', () => joined.status === 'ready');
    assert.ok((await cost(joined)) < apart / 3);
  } finally {
    for (const redis of [watch, plain, joined]) redis.disconnect();
  }
});
