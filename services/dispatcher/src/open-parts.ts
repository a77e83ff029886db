import type { Logger } from 'pino';
import { systemClock } from '@lemniscate/shared/clock.ts';
import { createCertificateIssuer } from './adapters/certificate-issuer.ts';
import { createLocalLogin } from './adapters/local-login.ts';
import { chooseMasterKey } from './adapters/content-keys/master-key.ts';
import { createAppendSignal, createAuditLog, readCommitmentKey } from './adapters/postgres/audit-log.ts';
import { createCredentialStore } from './adapters/postgres/credential-store.ts';
import { checkPooled, createDatabase } from './adapters/postgres/database.ts';
import type { PostgresDatabase } from './adapters/postgres/database.ts';
import { startGrowthWatch } from './adapters/postgres/growth-watch.ts';
import { migrate } from './adapters/postgres/migrations.ts';
import { createPlacementQueue } from './adapters/queue/placement-queue.ts';
import { checkRedis, closeRedis, connectRedis } from './adapters/redis/connection.ts';
import { createRedisLiveEvents } from './adapters/redis/live-events.ts';
import { createSharedRooms } from './adapters/redis/provider-room.ts';
import { createReservations } from './adapters/redis/reservation.ts';
import { createObjectStore } from './adapters/s3/object-store.ts';
import { readServiceCertificate } from './adapters/service-certificate.ts';
import { createCatchUp } from './application/events/catch-up.ts';
import { createPositionWatch } from './application/events/position-watch.ts';
import { createSegments } from './application/events/segments.ts';
import type { PeopleMap } from './application/ports/people-map.ts';
import { defaultPool, pinnedPool } from './application/servers/configured-server.ts';
import type { Signals } from './application/signals.ts';
import type { DispatcherConfig } from './config.ts';
import { isLoopback } from './domain/loopback.ts';

/** How the dispatcher's keys in Redis are told apart from those of others. */
const redisPrefix = 'lemniscate';
/** Postgres connections of one dispatcher. Nobody who holds one waits for a second. */
const connections = 20;
/** Placements of one dispatcher at the same time. */
const concurrency = 32;

/** How long parts may take to finish what they do when the dispatcher stops. Milliseconds. */
export const closeMs = 5_000;

/** Who this dispatcher is, who may speak to it, and whom it may vouch for. */
export async function readIdentity(config: DispatcherConfig) {
  const certificate = readServiceCertificate(
    { ca: config.LEMNISCATE_TLS_CA, cert: config.LEMNISCATE_TLS_CERT, key: config.LEMNISCATE_TLS_KEY },
    'dispatcher',
    systemClock,
  );
  const issueCertificate =
    config.LEMNISCATE_CA_KEY === undefined
      ? null
      : createCertificateIssuer(certificate.ca, config.LEMNISCATE_CA_KEY, systemClock);
  const localLogin =
    config.LEMNISCATE_LOCAL_LOGIN === undefined
      ? null
      : await createLocalLogin(config.LEMNISCATE_LOCAL_LOGIN, systemClock);
  return { certificate, issueCertificate, localLogin };
}

const statementTimeoutMs = 10_000;

/** Where migrations and locks connect: past a pooler, which would share their connection out. */
export function directUrlOf(config: DispatcherConfig): URL {
  return config.LEMNISCATE_DIRECT_DATABASE_URL ?? config.DATABASE_URL;
}

/** Postgres, its schema brought up to date. */
export async function openRecord(
  config: DispatcherConfig,
  log: Logger,
  parts: AsyncDisposableStack,
): Promise<PostgresDatabase> {
  const migrated = await migrate(directUrlOf(config), (message) =>
    log.warn({ component: 'migrations' }, message),
  );
  if (migrated.length > 0) log.info({ migrated }, 'the schema was brought up to date');
  // Who names a way past a pooler has one.
  const pooled = config.LEMNISCATE_DIRECT_DATABASE_URL !== undefined;
  const database = createDatabase({
    url: config.DATABASE_URL,
    connections,
    statementTimeoutMs,
    pooled,
    onConnectionError: (error) => log.warn({ err: error }, 'a connection to Postgres broke'),
  });
  parts.defer(() => database.close());
  if (pooled) await checkPooled(database, statementTimeoutMs);
  const growth = startGrowthWatch({ database, log, grown: database.forgetPlans });
  parts.defer(() => growth.close());
  return database;
}

/** The master keys of retained content and of credentials; null where the operator names none. */
export function masterKeysOf(config: DispatcherConfig) {
  const aws = { region: config.AWS_REGION, endpoint: config.LEMNISCATE_CONTENT_KMS_ENDPOINT };
  return {
    contentKeys: chooseMasterKey({
      ...aws,
      of: 'CONTENT',
      file: config.LEMNISCATE_CONTENT_KEY,
      keyId: config.LEMNISCATE_CONTENT_KMS_KEY,
    }),
    credentials: createCredentialStore(
      chooseMasterKey({
        ...aws,
        of: 'CREDENTIAL',
        file: config.LEMNISCATE_CREDENTIAL_KEY,
        keyId: config.LEMNISCATE_CREDENTIAL_KMS_KEY,
      }),
    ),
  };
}

/** Redis: the queue, the ledger of slots and the live signals. */
export async function openDelivery(
  config: DispatcherConfig,
  log: Logger,
  signals: Signals,
  parts: AsyncDisposableStack,
) {
  const redis = connectRedis(config.REDIS_URL, (error) => log.debug({ err: error }, 'Redis is away'));
  parts.defer(() => closeRedis(redis, 1_000));
  redis.on('ready', () => signals.send('redisBack', undefined));
  await checkRedis(redis, config.REDIS_URL);
  const live = createRedisLiveEvents({ url: config.REDIS_URL, log });
  parts.defer(() => live.close());
  const queue = createPlacementQueue({
    url: config.REDIS_URL,
    redis,
    prefix: redisPrefix,
    pools: [defaultPool, pinnedPool],
    log,
    concurrency,
  });
  parts.defer(() => queue.close(closeMs));
  const reservations = createReservations(redis, `{${redisPrefix}:placement}`, Math.random);
  const shared = createSharedRooms(redis, `${redisPrefix}:room`);
  parts.defer(shared.close);
  return { redis, live, queue, reservations, sharedRooms: shared.rooms };
}

/** The object store, and who reads sessions' events out of it and the record. */
export async function openContents(
  config: DispatcherConfig,
  log: Logger,
  database: PostgresDatabase,
  parts: AsyncDisposableStack,
) {
  const objects = createObjectStore({
    endpoint: config.S3_ENDPOINT,
    bucket: config.S3_BUCKET,
    region: config.AWS_REGION,
    accessKeyId: config.AWS_ACCESS_KEY_ID,
    secretAccessKey: config.AWS_SECRET_ACCESS_KEY,
    encryption: config.S3_ENCRYPTION,
    encryptionKey: config.S3_ENCRYPTION_KEY,
  });
  parts.defer(() => objects.close());
  const encrypted = await objects.prepare();
  // a store on this machine lies on its disk, which the doctor looks at
  if (encrypted === null && !isLoopback(new URL(config.S3_ENDPOINT).hostname))
    log.warn(
      { bucket: config.S3_BUCKET },
      'the bucket does not say that it encrypts what it keeps: give it a default encryption, or set S3_ENCRYPTION',
    );
  const watch = createPositionWatch({ database, log });
  parts.defer(() => watch.close());
  const segments = createSegments({ objects, clock: systemClock, log });
  return { objects, watch, segments, catchUp: createCatchUp(systemClock) };
}

/** The writer of the audit log, who wakes the exporter. */
export async function openAuditLog(database: PostgresDatabase, log: Logger, people: PeopleMap) {
  const appended = createAppendSignal(database, (error) =>
    log.debug({ err: error }, 'the exporter was not woken'),
  );
  const commitmentKey = await readCommitmentKey(database);
  return createAuditLog({ clock: systemClock, commitmentKey, appended, people });
}
