import { readFileSync } from 'node:fs';
import { createAgentServerClient } from '@lemniscate/dispatcher/adapters/agent-server-client.ts';
import { createPlacementQueue } from '@lemniscate/dispatcher/adapters/queue/placement-queue.ts';
import { closeRedis, connectRedis } from '@lemniscate/dispatcher/adapters/redis/connection.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import type { DispatchStage } from './dispatch-stage.ts';

const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** Jobs a second that BullMQ adds one by one and processes, doing nothing with them. */
export async function bareQueue(stage: DispatchStage, jobs: number, callers: number): Promise<number> {
  const url = new URL(stage.stores.redisUrl);
  const redis = connectRedis(url, () => undefined);
  const queue = createPlacementQueue({
    url,
    redis,
    prefix: 'bare',
    pools: ['bare'],
    log: silent,
    concurrency: 32,
  });
  try {
    const done = Promise.withResolvers<void>();
    let processed = 0;
    queue.work(async () => {
      processed += 1;
      if (processed === jobs) done.resolve();
    });
    const from = performance.now();
    await inTurns(jobs, callers, async (index) => {
      await queue.add('bare', [
        {
          sessionId: `s_${index}`,
          generation: 1,
          placementClass: 'bare',
          serverId: 'none',
          operation: `s_${index}-g1-0`,
          failures: [],
        },
      ]);
    });
    await done.promise;
    return (jobs * 1_000) / (performance.now() - from);
  } finally {
    await queue.close(5_000);
    await closeRedis(redis, 1_000);
  }
}

/** Sessions a second of the least that could be done: one durable `INSERT`, then one order over mutual TLS. */
export async function bareInsertAndPut(
  stage: DispatchStage,
  sessions: number,
  callers: number,
): Promise<number> {
  const own = await stage.authority.certificateFor('dispatcher', 'bare');
  const names = stage.fleet.servers.map(({ name }) => name);
  const client = createAgentServerClient({
    certificate: {
      ca: readFileSync(stage.authority.certificate, 'utf8'),
      cert: readFileSync(own.certificate, 'utf8'),
      key: readFileSync(own.key, 'utf8'),
    },
    addressOf: (serverId) => Promise.resolve(stage.fleet.addresses[names.indexOf(serverId)] ?? null),
    log: silent,
    timeoutMs: 10_000,
  });
  try {
    const from = performance.now();
    await inTurns(sessions, callers, async (index) => {
      const order = bareOrder(`bare_${Date.now()}_${index}`);
      await stage.database.query(insertRow, ['bare', order.sessionId, JSON.stringify(order).slice(0, 512)]);
      await client.place(names[index % names.length] ?? '', order);
    });
    return (sessions * 1_000) / (performance.now() - from);
  } finally {
    await client.close();
  }
}

// A row about as wide as a session's, in a table that the application may write.
const insertRow = `INSERT INTO idempotency_keys (caller, key, request_hash, session_id)
  SELECT $1, $2, $3, id FROM sessions LIMIT 1`;

function bareOrder(sessionId: string): SessionOrder {
  return {
    sessionId,
    attempt: 1,
    projectId: 'local',
    runtime: 'native',
    model: 'none',
    surface: 'api',
    interactive: false,
    instruction: 'do nothing',
    systemPrompt: '',
    repository: { kind: 'git', url: 'https://example.invalid/r.git' },
    tools: [],
    continueAfterToolRejection: false,
    commandMaxSeconds: 1,
    commandMaxOutputBytes: 1,
    profile: 'default',
    relayToken: 'none',
    leaseMs: 15_000,
    startWithinMs: 60_000,
  };
}

async function inTurns(
  count: number,
  callers: number,
  work: (index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (next < count) {
        next += 1;
        await work(next);
      }
    }),
  );
}
