import assert from 'node:assert/strict';
import { chmodSync, readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { CreateBucketCommand, GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { Redis } from 'ioredis';
import pg from 'pg';
import { readLocalConfig } from './config.ts';
import { openDataFolder } from './data-folder.ts';
import { openPortBook } from './port-book.ts';
import { startTimeOf } from './process/start-time.ts';
import { startStores } from './stores.ts';
import type { Stores } from './stores.ts';
import { scratchFolder } from './testing/scratch-folder.ts';
import { until } from './testing/until.ts';

test('the three stores serve on the loopback address alone, and what they keep outlives a restart', async (t) => {
  const folder = scratchFolder(t);
  // as under /root: nobody else passes through
  chmodSync(folder, 0o700);
  const data = openDataFolder({}, folder);
  const start = async () => {
    const ports = openPortBook(data);
    const stores = await startStores(data, ports, readLocalConfig({}), {
      durable: true,
      say: () => undefined,
    });
    t.after(stores.stop);
    t.after(ports.close);
    return { ...stores, ports };
  };
  const { ports, ...first } = await start();
  await write(first);
  const pids = first.processes.map((process) => process.pid() ?? assert.fail('no pid'));
  for (const pid of pids) assert.deepEqual(foreignListeners(pid), []);
  await first.stop();
  await first.stop();
  for (const pid of pids) assert.equal(startTimeOf(pid), undefined);
  ports.close();
  const { ports: _, ...second } = await start();
  assert.deepEqual({ ...second, processes: [], stop: null }, { ...first, processes: [], stop: null });
  await readBack(second);
});

test('a store that is killed comes back with what it kept', async (t) => {
  const data = openDataFolder({}, scratchFolder(t));
  const said: string[] = [];
  const stores = await startStores(data, openPortBook(data), readLocalConfig({}), {
    durable: true,
    say: (line) => void said.push(line),
  });
  t.after(stores.stop);
  await write(stores);
  for (const store of stores.processes) {
    const killed = store.pid() ?? assert.fail('no pid');
    process.kill(killed, 'SIGKILL');
    await until(`${store.name} runs again`, () => ![undefined, killed].includes(store.pid()));
  }
  await readBack(stores);
  assert.ok(said.includes('redis was ended by SIGKILL; restart 1'), said.join('\n'));
});

test('what Postgres refuses is in its log without the values and the statement', async (t) => {
  const data = openDataFolder({}, scratchFolder(t));
  const stores = await startStores(data, openPortBook(data), readLocalConfig({}), {
    durable: true,
    say: () => undefined,
  });
  t.after(stores.stop);
  const marker = 'PLANTEDvalueMARKER';
  await withPostgres(stores, async (client) => {
    await client.query('CREATE TABLE once (word text UNIQUE)');
    const refused = client.query(`INSERT INTO once VALUES ('${marker}'), ('${marker}')`);
    await assert.rejects(refused, (error: pg.DatabaseError) => error.detail?.includes(marker) === true);
  });
  const log = readFileSync(join(data.folder('logs'), 'postgres.log'), 'utf8');
  assert.match(log, /duplicate key value violates unique constraint "once_word_key"/);
  assert.doesNotMatch(log, new RegExp(marker));
});

test('a variable replaces its store', async (t) => {
  const data = openDataFolder({}, scratchFolder(t));
  const config = readLocalConfig({
    DATABASE_URL: 'postgres://me@db.example/one',
    REDIS_URL: 'redis://cache.example',
    S3_ENDPOINT: 'https://s3.example',
    AWS_ACCESS_KEY_ID: 'id',
    AWS_SECRET_ACCESS_KEY: 'key',
  });
  const stores = await startStores(data, openPortBook(data), config, {
    durable: true,
    say: () => undefined,
  });
  assert.equal(stores.databaseUrl, 'postgres://me@db.example/one');
  assert.equal(stores.redisUrl, 'redis://cache.example');
  assert.deepEqual(stores.s3, {
    endpoint: 'https://s3.example',
    accessKeyId: 'id',
    secretAccessKey: 'key',
    region: 'us-east-1',
  });
  assert.deepEqual(stores.processes, []);
});

const largeBody = Buffer.alloc(20 * 1024 * 1024, 'lemniscate');

async function write(stores: Stores): Promise<void> {
  await withPostgres(stores, async (client) => {
    await client.query('CREATE TABLE kept (word text)');
    await client.query(`INSERT INTO kept VALUES ('é')`);
    const { rows } = await client.query('SHOW fsync');
    assert.deepEqual(rows, [{ fsync: 'on' }]);
  });
  await withRedis(stores, async (redis) => {
    await redis.set('kept', 'é');
    assert.deepEqual(await redis.config('GET', 'maxmemory-policy'), ['maxmemory-policy', 'noeviction']);
  });
  await withS3(stores, async (s3) => {
    await s3.send(new CreateBucketCommand({ Bucket: 'kept' }));
    await s3.send(new PutObjectCommand({ Bucket: 'kept', Key: 'a/é', Body: largeBody }));
  });
}

async function readBack(stores: Stores): Promise<void> {
  await withPostgres(stores, async (client) => {
    assert.deepEqual((await client.query('SELECT word FROM kept')).rows, [{ word: 'é' }]);
  });
  await withRedis(stores, async (redis) => assert.equal(await redis.get('kept'), 'é'));
  await withS3(stores, async (s3) => {
    const { Body } = await s3.send(new GetObjectCommand({ Bucket: 'kept', Key: 'a/é' }));
    assert.ok(largeBody.equals((await Body?.transformToByteArray()) ?? Buffer.alloc(0)));
  });
}

async function withPostgres(stores: Stores, use: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: stores.databaseUrl });
  await client.connect();
  try {
    await use(client);
  } finally {
    await client.end();
  }
}

async function withRedis(stores: Stores, use: (redis: Redis) => Promise<void>): Promise<void> {
  const redis = new Redis(stores.redisUrl);
  try {
    await use(redis);
  } finally {
    await redis.quit();
  }
}

async function withS3({ s3 }: Stores, use: (client: S3Client) => Promise<void>): Promise<void> {
  const { endpoint, region, accessKeyId, secretAccessKey } = s3;
  const credentials = { accessKeyId, secretAccessKey };
  const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true });
  await use(client).finally(() => client.destroy());
}

/** Addresses other than 127.0.0.1 on which a process listens, from /proc (state 0A is LISTEN). */
function foreignListeners(pid: number): string[] {
  const lines = ['tcp', 'tcp6'].flatMap((family) =>
    readFileSync(`/proc/${pid}/net/${family}`, 'utf8').trim().split('\n').slice(1),
  );
  const own = new Set(socketInodes(pid));
  const listening = lines.map((line) => line.trim().split(/\s+/)).filter((fields) => fields[3] === '0A');
  const ours = listening.filter((fields) => own.has(fields[9] ?? ''));
  assert.ok(ours.length > 0, `process ${pid} listens nowhere`);
  return ours.flatMap((fields) => (fields[1]?.startsWith('0100007F:') === true ? [] : [fields[1] ?? '']));
}

function socketInodes(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((descriptor) => {
    const target = readlinkSync(`/proc/${pid}/fd/${descriptor}`);
    return /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? [];
  });
}
