import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { createAuditLog, readCommitmentKey } from '../../adapters/postgres/audit-log.ts';
import { createDatabase } from '../../adapters/postgres/database.ts';
import { createEventLog } from '../../adapters/postgres/event-log.ts';
import { migrate } from '../../adapters/postgres/migrations.ts';
import { createRedisLiveEvents } from '../../adapters/redis/live-events.ts';
import { createObjectStore } from '../../adapters/s3/object-store.ts';
import { createCatchUp } from '../../application/events/catch-up.ts';
import { createPositionWatch } from '../../application/events/position-watch.ts';
import { createSegments } from '../../application/events/segments.ts';
import { createSignals } from '../../application/signals.ts';
import { systemClock, threadProcessorMs } from '@lemniscate/shared/clock.ts';
import { secret } from '@lemniscate/shared/config/secret.ts';
import { createNewId } from '@lemniscate/shared/id.ts';
import type { Log } from '../../application/ports/log.ts';
import { createTestDatabase } from '../test-database.ts';
import { testVariable } from '../test-variable.ts';
import { embeddedStore } from './stores.ts';
import type { TestStore } from './stores.ts';

/** Swallows records; a test that wants them reads `records`. */
export function createTestLog(): Log & { readonly records: { level: string; message: string }[] } {
  const records: { level: string; message: string }[] = [];
  const write = (level: string) => (_record: object, message: string) =>
    void records.push({ level, message });
  return { records, debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

/** Roles belong to the cluster: files that migrate at the same moment would trip over each other. */
async function migrateAlone(url: URL): Promise<void> {
  const admin = new Client({ connectionString: testVariable('LEMNISCATE_TEST_DATABASE_URL') });
  await admin.connect();
  await admin.query(`SELECT pg_advisory_lock(hashtext('lemniscate-test-migrations'))`);
  try {
    await migrate(url, () => undefined);
  } finally {
    await admin.end();
  }
}

export type TestRecord = Awaited<ReturnType<typeof createTestRecord>>;

/** Everything real that the traffic side stands on, in one process. */
export async function createTestRecord({ store = embeddedStore() }: { readonly store?: TestStore } = {}) {
  const testDatabase = await createTestDatabase();
  await migrateAlone(testDatabase.url);
  const log = createTestLog();
  const clock = systemClock;
  const database = createDatabase({
    url: testDatabase.url,
    connections: 20,
    statementTimeoutMs: 20_000,
    onConnectionError: () => undefined,
  });
  const live = createRedisLiveEvents({ url: new URL(testVariable('LEMNISCATE_TEST_REDIS_URL')), log });
  const objects = createObjectStore({
    endpoint: store.endpoint,
    bucket: `traffic-${randomBytes(6).toString('hex')}`,
    region: 'us-east-1',
    accessKeyId: store.accessKeyId,
    secretAccessKey: secret(store.secretAccessKey),
  });
  await objects.prepare();
  const audit = createAuditLog({ clock, commitmentKey: await readCommitmentKey(database) });
  const events = createEventLog({ clock, live });
  const segments = createSegments({ objects, clock, log });
  const watch = createPositionWatch({ database, log });
  return {
    url: testDatabase.url,
    database,
    live,
    log,
    clock,
    processorMs: threadProcessorMs,
    objects,
    audit,
    events,
    segments,
    watch,
    catchUp: createCatchUp(clock),
    newId: createNewId(),
    signals: createSignals(),
    self: 'spiffe://lemniscate/dispatcher/test',
    close: async () => {
      watch.close();
      live.close();
      objects.close();
      await database.close();
      await testDatabase.drop();
    },
  };
}
