import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { createLease } from '@lemniscate/agent-server/application/lease.ts';
import type { Lease } from '@lemniscate/agent-server/application/lease.ts';
import { createDatabase } from '@lemniscate/dispatcher/adapters/postgres/database.ts';
import type { PostgresDatabase } from '@lemniscate/dispatcher/adapters/postgres/database.ts';
import { connectRedis } from '@lemniscate/dispatcher/adapters/redis/connection.ts';
import { createReservations } from '@lemniscate/dispatcher/adapters/redis/reservation.ts';
import type { AttemptClaim } from '@lemniscate/dispatcher/application/events/live-attempt.ts';
import { ingestBatch } from '@lemniscate/dispatcher/application/events/ingest-batch.ts';
import { createMassExpiryGuard } from '@lemniscate/dispatcher/application/recovery/mass-expiry.ts';
import { createRebuildLedger } from '@lemniscate/dispatcher/application/servers/rebuild-ledger.ts';
import { takeHeartbeat } from '@lemniscate/dispatcher/application/servers/take-heartbeat.ts';
import { reap } from '@lemniscate/dispatcher/jobs/reaper.ts';
import { startOwnRedis } from '@lemniscate/dispatcher/testing/own-redis.ts';
import type { OwnRedis } from '@lemniscate/dispatcher/testing/own-redis.ts';
import { startTcpProxy } from '@lemniscate/dispatcher/testing/tcp-proxy.ts';
import type { TcpProxy } from '@lemniscate/dispatcher/testing/tcp-proxy.ts';
import { createTestRecord } from '@lemniscate/dispatcher/testing/traffic/record.ts';
import type { TestRecord } from '@lemniscate/dispatcher/testing/traffic/record.ts';
import { openTestSession } from '@lemniscate/dispatcher/testing/traffic/session.ts';
import { undoneAfterTests } from '@lemniscate/local/testing/undone-after.ts';
import { turnBack } from '@lemniscate/dispatcher/testing/traffic/turn-back.ts';
import type { ServerStatus } from '@lemniscate/shared/protocol/server-status.ts';

// Five minutes without Postgres, without a dispatcher and without Redis, by a clock that the test turns: the reaper, the
// heartbeats and the server's lease are the real ones, and so are the stores. The time that Postgres counts is turned by
// moving what it wrote down.

const leaseMs = 15_000;
const graceMs = 5_000;
const outageMs = 5 * 60_000;

let record: TestRecord;
let proxy: TcpProxy;
let database: PostgresDatabase;
let ownRedis: OwnRedis;
let redis: ReturnType<typeof connectRedis>;
let now = 0;
const clock = { now: () => new Date(), monotonicMs: () => now };

const undo = undoneAfterTests();

before(async () => {
  record = undo.adopt(await createTestRecord(), (one) => one.close());
  await record.database.query(
    `INSERT INTO agent_servers (id, url, pool, capacity) VALUES ('server-a', 'https://127.0.0.1:1', 'default', 9)`,
  );
  proxy = undo.adopt(await startTcpProxy(Number(record.url.port)), (one) => one.close());
  const url = new URL(record.url);
  url.port = String(proxy.port);
  database = createDatabase({
    url,
    connections: 5,
    statementTimeoutMs: 20_000,
    onConnectionError: () => undefined,
  });
  undo.defer(() => database.close());
  ownRedis = undo.adopt(await startOwnRedis(), (one) => one.remove());
  // Quick to say that it is away: the test asks often.
  redis = connectRedis(ownRedis.url, () => undefined);
  undo.defer(() => redis.disconnect());
  redis.options.retryStrategy = () => 20;
});

/** One dispatcher's life: what it counts begins with it. */
function dispatcher() {
  const reservations = createReservations(redis, '{five-minutes:placement}', () => 0);
  return {
    ...record,
    database,
    clock,
    leaseMs,
    graceMs,
    maxLosses: 2,
    queueMaxWaitSeconds: 7_200,
    startingLimit: 32,
    reservations,
    rebuildLedger: createRebuildLedger({ database, reservations, startingLimit: 32 }),
    guard: createMassExpiryGuard(clock, 60_000),
    normalGapMs: 4_000,
    servers: {
      place: () => Promise.resolve({ kind: 'taken' as const }),
      destroy: () => undefined,
      pause: () => undefined,
      interrupt: () => Promise.resolve(),
    },
  };
}
type Dispatcher = ReturnType<typeof dispatcher>;

interface Running {
  readonly claim: AttemptClaim;
  readonly lease: Lease;
}

async function begin(): Promise<Running> {
  const claim = await openTestSession(record);
  await record.database.query(
    `UPDATE attempts SET lease_expires_at = now() + $2 * interval '1 millisecond' WHERE session_id = $1`,
    [claim.sessionId, leaseMs],
  );
  return { claim, lease: createLease(() => now, now, leaseMs) };
}

async function beat(on: Dispatcher, { claim, lease }: Running): Promise<void> {
  const sentAt = now;
  const held = { sessionId: claim.sessionId, attempt: claim.attempt };
  const status: ServerStatus = {
    protocol: 1,
    bootId: 'boot-1',
    capacity: 9,
    held: [held],
    warm: 0,
    driver: 'simulated',
    profiles: ['default'],
    draining: false,
  };
  const answer = await takeHeartbeat(on, claim.serverId, status);
  assert.deepEqual(answer.stale, []);
  for (const each of answer.leases) lease.renew(sentAt, each.leaseMs);
}

/** Time passes, for everything that Postgres has written down as well. */
async function pass(ms: number): Promise<void> {
  now += ms;
  await turnBack(record.url, ms);
}

async function attemptOf({ claim }: Running) {
  const [row] = await record.database.query<{ state: string; losses: number; lives: boolean }>(
    `SELECT a.state, s.losses, a.lease_expires_at > now() AS lives
     FROM attempts a JOIN sessions s ON s.id = a.session_id WHERE a.session_id = $1`,
    [claim.sessionId],
  );
  return row;
}

const alive = { state: 'live', losses: 0, lives: true };

/** The session takes its next step: its server's lease lets it, and the record listens. */
async function goesOn({ claim, lease }: Running): Promise<void> {
  await lease.hold(AbortSignal.timeout(1_000));
  const at = new Date().toISOString();
  const events = [{ at, event: { type: 'text', turn: 1, text: 'on' } }];
  const answer = await ingestBatch(record, claim, { firstSeq: 1, events });
  assert.equal(answer.acknowledgedSeq, 1);
}

test('five minutes without Postgres: the server stands still, the downtime is credited, work goes on', async () => {
  const on = dispatcher();
  const running = await begin();
  await reap(on);
  await beat(on, running);
  proxy.cut();
  for (const until = now + outageMs; now < until;) {
    now += 1_000;
    await assert.rejects(reap(on), { code: 'service_unreachable' });
    if (now % 2_000 === 0) await assert.rejects(beat(on, running), { code: 'service_unreachable' });
  }
  await turnBack(record.url, outageMs);
  assert.equal(running.lease.valid(), false, 'the server acts no more');
  assert.equal(running.lease.lost(), false, 'and keeps what it has');
  assert.equal((await attemptOf(running))?.lives, false);
  proxy.mend();
  await reap(on);
  assert.deepEqual(await attemptOf(running), alive);
  await beat(on, running);
  await goesOn(running);
});

test('five minutes without a dispatcher: the next one begins with a credit', async () => {
  const running = await begin();
  const before = dispatcher();
  await reap(before);
  await beat(before, running);
  await pass(outageMs);
  assert.equal(running.lease.valid(), false);
  const on = dispatcher();
  await reap(on);
  assert.deepEqual(await attemptOf(running), alive);
  await beat(on, running);
  await goesOn(running);
});

test('five minutes without Redis: heartbeats renew all the same, and the session never stands still', async () => {
  const on = dispatcher();
  const running = await begin();
  await reap(on);
  await beat(on, running);
  await ownRedis.stop();
  for (let second = 2; second <= outageMs / 1_000; second += 2) {
    await pass(2_000);
    if (second % 10 === 0) await beat(on, running);
    await reap(on);
    assert.ok(running.lease.valid(), `after ${second} seconds`);
  }
  assert.deepEqual(await attemptOf(running), alive);
  await goesOn(running);
});

test('a server that is silent for as long while everything else is there has lost its attempt', async () => {
  const on = dispatcher();
  const running = await begin();
  await reap(on);
  // In steps that are no absence; turning time back takes its own.
  for (let second = 3; second < leaseMs / 1_000; second += 3) {
    await pass(3_000);
    await reap(on);
    assert.equal((await attemptOf(running))?.state, 'live', `after ${second} seconds`);
  }
  for (let second = 0; second <= graceMs / 1_000 + 3; second += 3) {
    await pass(3_000);
    await reap(on);
  }
  assert.deepEqual(await attemptOf(running), { state: 'lost', losses: 1, lives: false });
});
