import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Redis } from 'ioredis';
import { freePort } from '@lemniscate/shared/testing/free-port.ts';
import { within } from '../../testing/within.ts';
import { createPlacementQueue } from '../queue/placement-queue.ts';
import { closeRedis, connectRedis } from './connection.ts';
import { createReservations } from './reservation.ts';
import { createRedisServerLines } from './server-lines.ts';

// A master, a replica and a sentinel, all encrypted; the master is killed.

const told = (): void => undefined;
const log = { debug: told, info: told, warn: told, error: told };
let folder: string;
const children: ChildProcess[] = [];
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'lemniscate-sentinel-'));
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-days',
      '2',
      '-subj',
      '/CN=redis',
      '-addext',
      'subjectAltName=IP:127.0.0.1',
      '-keyout',
      join(folder, 'key.pem'),
      '-out',
      join(folder, 'ca.pem'),
    ],
    { stdio: 'ignore' },
  );
});
after(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

const tls = (port: number): string[] => [
  'port 0',
  'bind 127.0.0.1',
  `tls-port ${port}`,
  `tls-cert-file ${join(folder, 'ca.pem')}`,
  `tls-key-file ${join(folder, 'key.pem')}`,
  `tls-ca-cert-file ${join(folder, 'ca.pem')}`,
  'tls-auth-clients no',
  'tls-replication yes',
];

async function start(
  name: string,
  lines: readonly string[],
  port: number,
  ...args: string[]
): Promise<ChildProcess> {
  const file = join(folder, `${name}.conf`);
  writeFileSync(file, [...lines, `dir ${folder}`, ''].join('\n'));
  const child = spawn('redis-server', [file, ...args], { stdio: 'ignore' });
  children.push(child);
  await within(30_000, `${name} answers`, async () => {
    const redis = connectRedis(new URL(`rediss://127.0.0.1:${port}?ca=${join(folder, 'ca.pem')}`), told);
    try {
      return (await redis.ping()) === 'PONG';
    } catch {
      return false;
    } finally {
      redis.disconnect();
    }
  });
  return child;
}

test('ledger, queue and lines to servers go on at the new master when the old one dies, over TLS', async (t) => {
  const [one, two, sentinel] = [await freePort(), await freePort(), await freePort()];
  const store = ['save ""', 'appendonly no', 'maxmemory-policy noeviction'];
  const master = await start('one', [...tls(one), ...store], one);
  await start('two', [...tls(two), ...store, `replicaof 127.0.0.1 ${one}`], two);
  await start(
    'sentinel',
    [
      ...tls(sentinel),
      `sentinel monitor fleet 127.0.0.1 ${one} 1`,
      'sentinel down-after-milliseconds fleet 3000',
      'sentinel failover-timeout fleet 5000',
    ],
    sentinel,
    '--sentinel',
  );
  const url = new URL(`rediss://127.0.0.1:${sentinel}/0?sentinel=fleet&ca=${join(folder, 'ca.pem')}`);
  const redis = connectRedis(url, told);
  t.after(() => closeRedis(redis, 1_000));
  const queue = createPlacementQueue({ url, redis, prefix: 'test', pools: ['default'], log, concurrency: 1 });
  t.after(() => queue.close(1_000));
  const ledger = createReservations(redis, '{test:placement}', Math.random);
  await ledger.rebuild([]);
  const placed: string[] = [];
  queue.work((job) => {
    placed.push(job.sessionId);
    return Promise.resolve();
  });
  const admit = async (sessionId: string): Promise<boolean> => {
    await ledger.correct({
      serverId: 'a',
      report: 1,
      pool: 'default',
      capacity: 9,
      tokens: [],
      warm: 0,
      mirrors: [],
      starting: 0,
      startingLimit: 9,
      sessions: [],
      gone: [],
    });
    const operation = `${sessionId}-g1-0`;
    const [given] = await ledger.reserve({
      wishes: [{ operation, placementClass: 'default', mirror: null, pinned: null }],
      exclude: [],
    });
    if (given?.kind !== 'reserved') return false;
    const job = {
      sessionId,
      generation: 1,
      placementClass: 'default',
      serverId: 'a',
      operation,
      failures: [],
    };
    await queue.add('default', [job]);
    return true;
  };
  let ids = 0;
  const lines = createRedisServerLines({ url, log, newId: () => `r${(ids += 1)}` });
  t.after(() => lines.close());
  const reached = async (): Promise<boolean> => {
    const asked = lines.ask('a', { kind: 'remove', sessionId: 's_1', attempt: 1 }, 1_000).then(
      ({ status }) => status,
      () => 0,
    );
    const [request] = await lines.next('a', 1_000, AbortSignal.timeout(1_000)).catch(() => []);
    if (request !== undefined) await lines.answer('a', { id: request.id, status: 202 }).catch(told);
    return (await asked) === 202;
  };
  assert.equal(await reached(), true);
  assert.equal(await admit('s_1'), true);
  await within(30_000, 'the first is placed', () => Promise.resolve(placed.includes('s_1')));
  const replica = new Redis({ host: '127.0.0.1', port: two, tls: { rejectUnauthorized: false } });
  t.after(() => replica.disconnect());
  await within(30_000, 'the replica follows', async () =>
    (await replica.info('replication')).includes('master_link_status:up'),
  );
  master.kill('SIGKILL');
  await within(90_000, 'another is admitted', () => admit('s_2').catch(() => false));
  await within(30_000, 'and placed', () => Promise.resolve(placed.includes('s_2')));
  await within(30_000, 'a server is reached', reached);
  assert.match(await replica.info('replication'), /role:master/);
});
