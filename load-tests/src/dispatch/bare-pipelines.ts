import { readFileSync } from 'node:fs';
import { createAgentServerClient } from '@lemniscate/dispatcher/adapters/agent-server-client.ts';
import { createPlacementQueue } from '@lemniscate/dispatcher/adapters/queue/placement-queue.ts';
import { closeRedis, connectRedis } from '@lemniscate/dispatcher/adapters/redis/connection.ts';
import { Client } from 'pg';
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

/**
 * Sessions a second of the least that could be done: one durable `INSERT` of a row as wide as a session's, then the same
 * order over mutual TLS. Its connections and its code are warm, as those of the whole way are.
 */
export async function bareInsertAndPut(
  stage: DispatchStage,
  load: { readonly warmUp: number; readonly sessions: number; readonly callers: number },
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
    // What it is late itself is part of what is measured.
    ownLag: { lateMs: () => 0 },
  });
  try {
    const row = await sessionRow(stage);
    const order = stage.lastOrder();
    if (order === null)
      throw new Error('the bare pipeline runs behind the whole way, whose orders it copies');
    const pipeline = async (sessions: number): Promise<void> =>
      inTurns(sessions, load.callers, async (index) => {
        const sessionId = `bare_${sessions}_${index}`;
        await stage.database.query(insertRow, [sessionId, ...row]);
        await client.place(names[index % names.length] ?? '', { ...order, sessionId });
      });
    await pipeline(load.warmUp);
    const from = performance.now();
    await pipeline(load.sessions);
    return (load.sessions * 1_000) / (performance.now() - from);
  } finally {
    await client.close();
  }
}

const insertRow = 'INSERT INTO bare_sessions (id, policy, rest) VALUES ($1, $2, $3)';

/**
 * What a session's row holds, for a table with a key and nothing else: no index, no second version, no audit entry, no
 * event, no row of the outbox. The policy that is frozen into it is most of it.
 * @returns policy, and all else as one text
 */
async function sessionRow(stage: DispatchStage): Promise<readonly [policy: string, rest: string]> {
  const owner = new Client({ connectionString: stage.stores.databaseUrl, statement_timeout: 60_000 });
  await owner.connect();
  try {
    await owner.query(`CREATE TABLE bare_sessions (id text PRIMARY KEY, policy jsonb NOT NULL, rest text NOT NULL);
      GRANT INSERT ON bare_sessions TO lemniscate_app`);
    const { rows } = await owner.query<{ policy: string; rest: string }>(
      `SELECT policy::text, jsonb_populate_record(s, '{"policy": null}')::text AS rest FROM sessions s LIMIT 1`,
    );
    const [row] = rows;
    if (row === undefined)
      throw new Error('the bare pipeline runs behind the whole way, whose rows it copies');
    return [row.policy, row.rest];
  } finally {
    await owner.end();
  }
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
