import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import type { Logger } from 'pino';
import { systemClock } from '@lemniscate/shared/clock.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { createNewId } from '@lemniscate/shared/id.ts';
import { createAgentServerClient } from './adapters/agent-server-client.ts';
import { createCertificateIssuer } from './adapters/certificate-issuer.ts';
import { createLocalLogin, nobody } from './adapters/local-login.ts';
import { readPolicyFile } from './adapters/policy-file.ts';
import { checkAnthropicRequest } from '@lemniscate/shared/model/gateway-request.ts';
import { readPinnedPriceBook } from '@lemniscate/shared/model/genai-prices-book.ts';
import { createModels } from './adapters/model/create-models.ts';
import { createAppendSignal, createAuditLog, readCommitmentKey } from './adapters/postgres/audit-log.ts';
import { createAuditReader } from './adapters/postgres/audit-reader.ts';
import { createDatabase } from './adapters/postgres/database.ts';
import { createEventLog } from './adapters/postgres/event-log.ts';
import { migrate } from './adapters/postgres/migrations.ts';
import { createPlacementQueue } from './adapters/queue/placement-queue.ts';
import { checkRedis, closeRedis, connectRedis } from './adapters/redis/connection.ts';
import { createRedisLiveEvents } from './adapters/redis/live-events.ts';
import { createReservations } from './adapters/redis/reservation.ts';
import { createObjectStore } from './adapters/s3/object-store.ts';
import { readServiceCertificate } from './adapters/service-certificate.ts';
import { createPositionWatch } from './application/events/position-watch.ts';
import { createSegments } from './application/events/segments.ts';
import type { AttemptClaim } from './application/events/live-attempt.ts';
import { createOpenExchanges } from './application/gateway/open-exchanges.ts';
import { settleAttempt } from './application/gateway/reap-exchanges.ts';
import type { CheckRequest } from './application/gateway/check-exchange.ts';
import { createMassExpiryGuard } from './application/recovery/mass-expiry.ts';
import { createGapWatch } from './application/recovery/credit-downtime.ts';
import { ensureProject, localProject } from './application/projects/project.ts';
import { objectKey } from './application/ports/object-store.ts';
import { defaultPool, pinnedPool } from './application/servers/configured-server.ts';
import { rebuildLedger } from './application/servers/probe-servers.ts';
import { findServer } from './application/servers/server-row.ts';
import { createSignals } from './application/signals.ts';
import { announcedBounds, isLoopback, readDispatcherConfig } from './config.ts';
import type { DispatcherConfig } from './config.ts';
import { serveInternal, servePublic } from './http/serve.ts';
import { startJobs } from './jobs/start-jobs.ts';

/** A dispatcher that serves. */
export interface RunningDispatcher {
  readonly publicPort: number;
  readonly internalPort: number;
  /** Stops taking work, lets what runs finish within bounds, and lets go of everything. */
  stop(): Promise<void>;
}

/** How Redis keys are told apart from those of others; tests take their own. */
const redisPrefix = 'lemniscate';
const bundleAddressSeconds = 600;
const closeMs = 5_000;

/**
 * Builds a dispatcher out of its parts. If one of them cannot be had, those that were built before are closed again.
 * @throws CodedError that names the part and says what to do
 */
export async function startDispatcher(config: DispatcherConfig, logger: Logger): Promise<RunningDispatcher> {
  const parts = new AsyncDisposableStack();
  try {
    const running = await build(config, logger, parts);
    return { ...running, stop: () => parts.disposeAsync() };
  } catch (error) {
    await parts.disposeAsync();
    throw error;
  }
}

async function build(
  config: DispatcherConfig,
  log: Logger,
  parts: AsyncDisposableStack,
): Promise<Omit<RunningDispatcher, 'stop'>> {
  const clock = systemClock;
  const newId = createNewId();
  const signals = createSignals();
  const certificate = readServiceCertificate(
    { ca: config.LEMNISCATE_TLS_CA, cert: config.LEMNISCATE_TLS_CERT, key: config.LEMNISCATE_TLS_KEY },
    'dispatcher',
    clock,
  );
  const issueCertificate =
    config.LEMNISCATE_CA_KEY === undefined
      ? null
      : createCertificateIssuer(certificate.ca, config.LEMNISCATE_CA_KEY, clock);
  const authenticator =
    config.LEMNISCATE_LOCAL_LOGIN === undefined
      ? nobody
      : await createLocalLogin(config.LEMNISCATE_LOCAL_LOGIN, clock);
  const policy = await readPolicyFile(config.LEMNISCATE_DEFAULT_POLICY, {
    maxActions: config.LEMNISCATE_SESSION_MAX_ACTIONS,
    maxMinutes: config.LEMNISCATE_SESSION_MAX_MINUTES,
  });

  // The record
  const migrated = await migrate(config.DATABASE_URL, (message) =>
    log.warn({ component: 'migrations' }, message),
  );
  if (migrated.length > 0) log.info({ migrated }, 'the schema was brought up to date');
  const database = createDatabase({
    url: config.DATABASE_URL,
    connections: 20,
    statementTimeoutMs: 10_000,
    onIdleError: (error) => log.warn({ err: error }, 'a connection to Postgres broke while idle'),
  });
  parts.defer(() => database.close());
  await ensureProject(database, localProject, policy);

  // Delivery
  const redis = connectRedis(config.REDIS_URL, (error) => log.debug({ err: error }, 'Redis is away'));
  parts.defer(() => closeRedis(redis, 1_000));
  redis.on('ready', () => signals.send('redisBack', undefined));
  await checkRedis(redis, config.REDIS_URL);
  const live = createRedisLiveEvents({ url: config.REDIS_URL, log });
  parts.defer(() => live.close());
  const reservations = createReservations(redis, `{${redisPrefix}:placement}`, Math.random);
  const queue = createPlacementQueue({
    url: config.REDIS_URL,
    redis,
    prefix: redisPrefix,
    pools: [defaultPool, pinnedPool],
    log,
    concurrency: 32,
  });
  parts.defer(() => queue.close(closeMs));

  // The log, the events, the store
  const audit = createAuditLog({
    clock,
    commitmentKey: await readCommitmentKey(database),
    appended: createAppendSignal(database, (error) =>
      log.debug({ err: error }, 'the exporter was not woken'),
    ),
  });
  const events = createEventLog({ clock, live });
  const objects = createObjectStore({
    endpoint: config.S3_ENDPOINT,
    bucket: config.S3_BUCKET,
    region: config.AWS_REGION,
    accessKeyId: config.AWS_ACCESS_KEY_ID,
    secretAccessKey: config.AWS_SECRET_ACCESS_KEY,
  });
  parts.defer(() => objects.close());
  await objects.prepare();

  // Models
  const models = await createModels(config, clock);
  parts.defer(models.close);
  const priceBook = readPinnedPriceBook();
  const open = createOpenExchanges();

  const watch = createPositionWatch({ database, log });
  parts.defer(() => watch.close());

  // Agent servers
  const servers = createAgentServerClient({
    certificate,
    addressOf: async (serverId) => (await findServer(database, serverId))?.url ?? null,
    log,
    timeoutMs: 5_000,
  });
  parts.defer(() => servers.close());

  const deps = {
    database,
    audit,
    events,
    live,
    signals,
    newId,
    log,
    clock,
    servers,
    reservations,
    queue,
    objects,
    segments: createSegments({ objects, clock, log }),
    watch,
    auditReader: createAuditReader(database),
    open,
    settleUsage: (claim: AttemptClaim) =>
      settleAttempt({ database, audit, events, priceBook, clock, open, log }, claim),
    priceBook,
    providerOf: models.providerOf,
    checkRequest,
    idleMs: 90_000,
    exchangeMs: 30 * 60_000,
    self: certificate.uri,
    models: models.offer,
    maxLosses: config.LEMNISCATE_MAX_LOSSES,
    leaseMs: config.LEMNISCATE_LEASE_MS,
    graceMs: config.LEMNISCATE_GRACE_MS,
    queueMaxWaitSeconds: config.LEMNISCATE_QUEUE_MAX_WAIT_SECONDS,
    times: { leaseMs: config.LEMNISCATE_LEASE_MS, startTimeoutMs: config.LEMNISCATE_START_TIMEOUT_MS },
    guard: createMassExpiryGuard(clock, 60_000),
    gaps: createGapWatch(clock, 4_000, config.LEMNISCATE_START_TIMEOUT_MS),
    newRelayToken: () => `lmr_${randomBytes(32).toString('base64url')}`,
    random: Math.random,
    rebuildLedger: () => rebuildLedger({ database, reservations }),
    bundleAddress: (projectId: string, sha256: string) =>
      objects.presignGet(objectKey(projectId, sha256), bundleAddressSeconds),
    configured: config.AGENT_SERVERS,
    probe: servers.probe,
    issueCertificate,
    caPem: certificate.ca,
  };

  const internal = await serveInternal(deps, {
    host: config.LEMNISCATE_INTERNAL_HOST,
    port: config.LEMNISCATE_INTERNAL_PORT,
    certificate,
  });
  parts.defer(internal.close);
  const jobs = startJobs(deps);
  parts.defer(() => jobs.stop(closeMs));
  const front = await servePublic(
    {
      ...deps,
      authenticator,
      internalUrl: () => `https://${config.LEMNISCATE_INTERNAL_HOST}:${internal.port}`,
      ready: { postgres: () => database.query('SELECT 1'), redis: () => redis.ping() },
    },
    {
      host: config.LEMNISCATE_HOST,
      port: config.LEMNISCATE_PORT,
      // Plain HTTP never leaves the machine.
      certificate: isLoopback(config.LEMNISCATE_HOST) ? null : certificate,
    },
  );
  parts.defer(front.close);
  return { publicPort: front.port, internalPort: internal.port };
}

const checkRequest: CheckRequest = (body, beta) => {
  const check = checkAnthropicRequest(body, beta);
  return check.ok ? null : { field: check.field, reason: check.reason };
};

function createLogger(level: string): Logger {
  return pino({ level, base: { service: 'dispatcher' } }, pino.destination({ dest: 2, sync: true }));
}

/** The process: variables in, log lines out, one clean end. */
async function main(): Promise<void> {
  const config = readDispatcherConfig(process.env);
  const log = createLogger(config.LEMNISCATE_LOG_LEVEL);
  for (const bound of announcedBounds(config))
    log.warn(bound, `${bound.name} is ${bound.value} instead of ${bound.usual}`);
  const dispatcher = await startDispatcher(config, log);
  log.info(
    { publicPort: dispatcher.publicPort, internalPort: dispatcher.internalPort },
    'the dispatcher is ready',
  );
  let stopping = false;
  const stop = (cause: string): void => {
    if (stopping) return;
    stopping = true;
    log.info({ cause }, 'the dispatcher stops');
    // Whatever hangs in the way of a clean end must not hang for ever.
    setTimeout(() => process.exit(1), 3 * closeMs).unref();
    dispatcher.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'the stop was not clean');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));
  if (!config.LEMNISCATE_EXIT_WITH_PARENT) return;
  process.stdin.resume();
  process.stdin.on('end', () => stop('the parent is gone'));
  process.stdin.on('error', () => stop('the parent is gone'));
}

if (import.meta.main) {
  main().catch((error: unknown) => {
    const log = createLogger('info');
    if (isCodedError(error)) log.fatal({ code: error.code, details: error.details }, error.message);
    else log.fatal({ err: error }, 'the dispatcher cannot start');
    process.exit(1);
  });
}
