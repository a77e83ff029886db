import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sessionViewSchema } from '@lemniscate/shared/api/session.ts';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { assertNothingRuns, runSession, sampleRepository, startTestFleet } from './test-fleet.ts';
import type { TestFleet } from './test-fleet.ts';

let site: TestFleet;

before(async () => {
  site = await startTestFleet();
});

after(async () => {
  await site.stop();
  await assertNothingRuns(site.scratch);
});

test('FLUSHALL while sessions wait loses none and runs none twice', async () => {
  const folder = sampleRepository(site.scratch, 'crowd');
  const redis = new Redis(site.fleet.stores.redisUrl);
  const runs = Array.from({ length: 8 }, () => runSession(site, { repositoryFolder: folder }));
  const flushed = (async () => {
    const waiting = z.object({ sessions: z.array(sessionViewSchema) });
    for (;;) {
      const page = await site.client.json('/v1/sessions?limit=20', waiting);
      if (page.sessions.filter(({ state }) => state === 'pending').length >= 2) break;
    }
    await redis.flushall();
    redis.disconnect();
  })();
  const ended = await Promise.all(runs);
  await flushed;
  for (const { session, patch } of ended) {
    assert.equal(session.state, 'completed', `${session.reason}: ${session.message}`);
    assert.equal(session.attempt, 1);
    assert.equal(patch, ended[0]?.patch);
    assert.notEqual(patch, '');
  }
});
