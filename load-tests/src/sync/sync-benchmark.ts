import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createObjectCache } from '@lemniscate/agent-server/adapters/object-cache-folder.ts';
import { gather } from '@lemniscate/agent-server/application/sessions/lay-attachments.ts';
import type { SyncContext } from '@lemniscate/agent-server/application/sessions/lay-attachments.ts';
import { pushCollected } from '@lemniscate/agent-server/application/sessions/push-collected.ts';
import { createTestRecord } from '@lemniscate/dispatcher/testing/traffic/record.ts';
import type { TestRecord } from '@lemniscate/dispatcher/testing/traffic/record.ts';
import { openTestSession } from '@lemniscate/dispatcher/testing/traffic/session.ts';
import { readLocalConfig } from '@lemniscate/local/config.ts';
import { openDataFolder } from '@lemniscate/local/data-folder.ts';
import { openPortBook } from '@lemniscate/local/port-book.ts';
import { startStores } from '@lemniscate/local/stores.ts';
import type { FolderFile } from '@lemniscate/shared/agents/folder.ts';
import { distribution, goalAtMost } from '../benchmark.ts';
import type { BenchIo, Benchmark } from '../benchmark.ts';
import { remember, syncContext } from './sync-context.ts';

/** Small files of a memory; `LEMNISCATE_BENCH_FILES` makes a smaller run. */
const usualFiles = 1_000;
const fileBytes = 2_048;
const coldRounds = 5;
const warmRounds = 20;

/** To reach on the embedded store, by the middle of the rounds. Milliseconds. */
const goals = { cold: 2_000, warm: 50, push: 150 } as const;

/** A memory of many small files: pulled, pulled again, and pushed after one change. */
export const syncBenchmark: Benchmark = {
  name: 'sync',
  about: `a memory of ${usualFiles} small files: cold pull, warm pull, push of one changed file`,
  async run(io) {
    const folder = mkdtempSync(join(tmpdir(), 'lemniscate-bench-sync-'));
    chmodSync(folder, 0o755);
    const parts = new AsyncDisposableStack();
    parts.defer(() => rmSync(folder, { recursive: true, force: true }));
    try {
      return await measure(io, folder, await openRecord(io, folder, parts));
    } finally {
      await parts.disposeAsync();
    }
  },
};

/** `S3_ENDPOINT` measures another store than the embedded one, such as a Ceph gateway. */
async function openRecord(io: BenchIo, folder: string, parts: AsyncDisposableStack): Promise<TestRecord> {
  const data = openDataFolder({ LEMNISCATE_DATA: join(folder, 'data') }, io.projectRoot);
  const ports = openPortBook(data);
  parts.defer(ports.close);
  const stores = await startStores(data, ports, readLocalConfig({}), { durable: true, say: io.say });
  parts.defer(() => stores.stop());
  process.env['LEMNISCATE_TEST_DATABASE_URL'] = stores.databaseUrl;
  process.env['LEMNISCATE_TEST_REDIS_URL'] = stores.redisUrl;
  const {
    S3_ENDPOINT: endpoint,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secret,
  } = io.environment;
  const record = await createTestRecord({
    store: {
      endpoint: endpoint ?? stores.s3.endpoint,
      accessKeyId: accessKeyId ?? 'test',
      secretAccessKey: secret ?? 'test',
    },
  });
  parts.defer(() => record.close());
  return record;
}

async function measure(io: BenchIo, folder: string, record: TestRecord) {
  const count = Number(io.environment['LEMNISCATE_BENCH_FILES'] ?? usualFiles);
  const claim = await openTestSession(record);
  const cacheAt = (name: string) => createObjectCache(join(folder, name), 1024 ** 3);
  const contextWith = (cache: string, files: readonly FolderFile[]): SyncContext =>
    syncContext(record, claim, cacheAt(cache), files);

  io.say(`storing ${count} files`);
  const writer = cacheAt('writer');
  const files: FolderFile[] = [];
  for (let number = 0; number < count; number += 1) {
    const content = randomBytes(fileBytes);
    const { sha256 } = await writer.keep(content);
    files.push({ path: `notes/${number}.md`, sha256, bytes: content.length });
  }
  const whole = await timed(() => pushCollected(contextWith('writer', []), { memory: files }, io.signal));
  io.say(`pushed all of them in ${whole.toFixed(0)} ms`);
  await remember(record, claim, files);

  const cold: number[] = [];
  for (let round = 0; round < coldRounds; round += 1)
    cold.push(await timed(() => gather(contextWith(`cold-${round}`, files), files, io.signal)));
  const warm: number[] = [];
  for (let round = 0; round < warmRounds; round += 1)
    warm.push(await timed(() => gather(contextWith('cold-0', files), files, io.signal)));
  const pushed: number[] = [];
  for (let round = 0; round < warmRounds; round += 1) {
    const content = randomBytes(fileBytes);
    const { sha256 } = await cacheAt('cold-0').keep(content);
    const memory = [{ path: 'notes/0.md', sha256, bytes: content.length }, ...files.slice(1)];
    pushed.push(await timed(() => pushCollected(contextWith('cold-0', files), { memory }, io.signal)));
  }
  const figures = {
    cold: distribution(`cold pull of ${count} files`, 'ms', cold),
    warm: distribution('warm pull, nothing changed', 'ms', warm),
    push: distribution('push of one changed file', 'ms', pushed),
  };
  return {
    results: [{ name: `first push of ${count} files`, unit: 'ms', value: whole }, ...Object.values(figures)],
    goals: (['cold', 'warm', 'push'] as const).map((name) =>
      goalAtMost(`${figures[name].name}, p50`, 'ms', goals[name], figures[name].p50),
    ),
  };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}
