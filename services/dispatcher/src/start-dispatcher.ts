import { randomBytes, randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { systemClock, threadProcessorMs } from '@lemniscate/shared/clock.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { createNewId } from '@lemniscate/shared/id.ts';
import { readPinnedPriceBook } from '@lemniscate/shared/model/genai-prices-book.ts';
import { createNotifiers } from './adapters/notify/registry.ts';
import { createGuardedFetch } from './adapters/outgoing/guarded-fetch.ts';
import { createAgentServerClient } from './adapters/agent-server-client.ts';
import { crashPointsAround, readCrashPoint } from './adapters/crash-points.ts';
import { watchOwnLag } from './adapters/own-lag.ts';
import { reachServers } from './adapters/reach-servers.ts';
import { rememberAddresses } from './adapters/server-addresses.ts';
import { createRedisServerLines } from './adapters/redis/server-lines.ts';
import { createConfiguredIssuer } from './adapters/create-issuer.ts';
import { createModels } from './adapters/model/create-models.ts';
import { readPolicyFile } from './adapters/policy-file.ts';
import { readPriceFile } from './adapters/price-file.ts';
import { createAuditProofs } from './adapters/postgres/audit-proofs.ts';
import { createAuditSearch } from './adapters/postgres/audit-search.ts';
import { createAuditReader } from './adapters/postgres/audit-reader.ts';
import { createEventLog } from './adapters/postgres/event-log.ts';
import { startLeadership } from './adapters/postgres/leadership.ts';
import { createPeopleMap } from './adapters/postgres/people-map.ts';
import { createRemoteServers } from './adapters/mcp/remote-servers.ts';
import { settingsOfDispatcher } from './adapters/settings.ts';
import { createServerList } from './adapters/server-list.ts';
import { withPseudonyms } from './application/audit/known-people.ts';
import { recordSettings } from './application/audit/record-settings.ts';
import { withLoginsRecorded } from './application/audit/recorded-logins.ts';
import { authenticateIssued, createAuthenticator } from './application/access/authenticate.ts';
import { createFindPerson } from './application/access/known-person.ts';
import { createBrowserLinks } from './application/access/browser-links.ts';
import { createLoginFailures } from './application/access/login-failures.ts';
import type { AttemptClaim } from './application/events/live-attempt.ts';
import { createGates } from './application/gateway/gates.ts';
import { createOpenExchanges } from './application/gateway/open-exchanges.ts';
import { settleAttempt } from './application/gateway/reap-exchanges.ts';
import { objectKey } from './application/ports/object-store.ts';
import { ensureProject } from './application/projects/change-policy.ts';
import { localProject } from './application/projects/project.ts';
import { createMassExpiryGuard } from './application/recovery/mass-expiry.ts';
import { withRevocation } from './application/revocation/revoked-users.ts';
import { createRebuildLedger } from './application/servers/rebuild-ledger.ts';
import { findServer } from './application/servers/server-row.ts';
import { createRemoteCalls } from './application/remote-tools/remote-calls.ts';
import { createOpenings } from './application/sessions/openings.ts';
import { createRowWatch } from './application/sessions/watch-rows.ts';
import { createSignals } from './application/signals.ts';
import { isLoopback } from './domain/loopback.ts';
import { budgetDefaultsOf, settingsOf } from './bounds.ts';
import type { DispatcherConfig } from './config.ts';
import { mcpResource } from './http/mcp/protected-resource.ts';
import { createOpenAnswers } from './http/open-answers.ts';
import { serveInternal, servePublic } from './http/serve.ts';
import { createRequestMeasures } from './http/measure-requests.ts';
import { startJobs } from './jobs/start-jobs.ts';
import { openTelemetry } from './open-telemetry.ts';
import {
  closeMs,
  directUrlOf,
  masterKeysOf,
  openAuditLog,
  openContents,
  openDelivery,
  openRecord,
  readIdentity,
} from './open-parts.ts';

/** A dispatcher that serves. */
export interface RunningDispatcher {
  readonly publicPort: number;
  readonly internalPort: number;
  /** Stops taking work, lets what runs finish within bounds, and lets go of everything. */
  stop(): Promise<void>;
}

const bundleAddressSeconds = 600;
/** Longest answer of a remote MCP server. */
const remoteAnswerBytes = 4 * 1024 * 1024;

/**
 * Builds a dispatcher out of its parts; the only place besides `main.ts` that knows adapters. If a part cannot be had,
 * those that were built before it are closed again, the last one first.
 * @throws CodedError that names the part and says what to do
 */
export async function startDispatcher(config: DispatcherConfig, log: Logger): Promise<RunningDispatcher> {
  const parts = new AsyncDisposableStack();
  try {
    const ports = await build(config, log, parts);
    return { ...ports, stop: () => parts.disposeAsync() };
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
  const point = readCrashPoint(config.LEMNISCATE_CRASH_POINTS);
  if (point !== null)
    log.warn({}, 'LEMNISCATE_CRASH_POINTS is set: this process kills itself where it is told to');
  const around = crashPointsAround(point);
  const signals = createSignals();
  // Files first: a wrong one is told before anything is connected.
  const identity = await readIdentity(config);
  const { expiresAt } = identity.certificate;
  if (expiresAt.getTime() - clock.now().getTime() < 3 * 86_400_000)
    log.warn(
      { expiresAt },
      'the certificate of this dispatcher expires soon; issue a new one and start again',
    );
  const budgetDefaults = budgetDefaultsOf(config);
  const policy = await readPolicyFile(config.LEMNISCATE_DEFAULT_POLICY, budgetDefaults);
  const priceBook = await readPriceFile(config.LEMNISCATE_PRICES, readPinnedPriceBook());
  const models = await createModels(config, clock, process.env);
  parts.defer(models.close);
  const masterKeys = masterKeysOf(config);
  const database = around.database(await openRecord(config, log, parts));
  const reached = await openDelivery(config, log, signals, parts);
  const delivery = {
    ...reached,
    live: around.live(reached.live),
    queue: around.queue(reached.queue),
    reservations: around.reservations(reached.reservations),
    sharedRooms: around.rooms(reached.sharedRooms),
  };
  const { objects: store, ...contents } = await openContents(config, log, database, parts);
  const objects = around.objects(store);
  const people = createPeopleMap(clock);
  const audit = await openAuditLog(database, log, people);
  const self = identity.certificate.uri;
  await database.transaction((tx) => ensureProject({ audit, self }, tx, localProject, policy));
  const events = createEventLog({ clock, live: delivery.live });
  const ownLag = watchOwnLag(clock);
  parts.defer(ownLag.close);
  const reach = {
    addressOf: rememberAddresses(async (id) => (await findServer(database, id))?.url ?? null, clock),
    log,
    timeoutMs: 5_000,
    ownLag,
  };
  const called = around.servers(createAgentServerClient({ certificate: identity.certificate, ...reach }));
  parts.defer(() => called.close());
  const lines = around.lines(createRedisServerLines({ url: config.REDIS_URL, log, newId: randomUUID }));
  parts.defer(lines.close);
  const servers = reachServers(called, { ...reach, lines });
  // Placements under way still speak to servers: the workers end first.
  parts.defer(() => delivery.queue.close(closeMs));
  const settings = new Map(await settingsOfDispatcher(config)).set('price book', priceBook.version);
  await recordSettings({ database, audit, self }, settings);
  const guarded = createGuardedFetch({
    privateHosts: config.LEMNISCATE_NOTIFY_PRIVATE_HOSTS,
    maxBytes: 64 * 1024,
  });
  parts.defer(() => guarded.close());
  const notifiers = around.notifiers(createNotifiers(guarded, mailServerOf(config)));
  parts.defer(async () => {
    for (const notifier of Object.values(notifiers)) await notifier.close();
  });
  const open = createOpenExchanges();
  const gatewayId = `gw_${randomBytes(12).toString('hex')}`;
  const findPerson = createFindPerson(config.LEMNISCATE_ADMINISTRATORS, identity.localLogin?.find ?? null);
  const measures = createRequestMeasures();
  const watch = { database, clock, measures, certificateExpiresAt: expiresAt, instance: self, log };
  const { tracer, collectMetrics } = await openTelemetry(config, watch, parts);
  const outgoing = createGuardedFetch({
    privateHosts: config.LEMNISCATE_MCP_PRIVATE_HOSTS,
    maxBytes: remoteAnswerBytes,
  });
  parts.defer(outgoing.close);
  const remoteServers = createRemoteServers(outgoing);
  const remoteCalls = createRemoteCalls({
    database,
    audit,
    credentials: masterKeys.credentials,
    remoteServers,
    self,
    log,
  });
  parts.defer(() => remoteCalls.close(closeMs));
  const deps = {
    ...delivery,
    ...contents,
    ...settingsOf(config),
    database,
    objects,
    audit,
    events,
    servers,
    remoteServers,
    remoteCalls,
    signals,
    log,
    clock,
    processorMs: threadProcessorMs,
    tracer,
    measures,
    collectMetrics,
    cloudWatchFleet: config.LEMNISCATE_CLOUDWATCH_FLEET ?? null,
    // Beside the log, which goes to standard error: CloudWatch reads both.
    publishMetric: (metric: Readonly<Record<string, unknown>>) =>
      void process.stdout.write(`${JSON.stringify(metric)}\n`),
    priceBook,
    open,
    gates: createGates({
      clock,
      log,
      newHolder: () => randomBytes(12).toString('hex'),
      sharedRooms: delivery.sharedRooms,
    }),
    gatewayId,
    newId: createNewId(),
    openings: createOpenings({ database, audit, events, maxBacklog: config.LEMNISCATE_QUEUE_MAX_BACKLOG }),
    random: Math.random,
    newJoinToken: () => `lmj_${randomBytes(32).toString('base64url')}`,
    newRelayToken: () => `lmr_${randomBytes(32).toString('base64url')}`,
    self,
    budgetDefaults,
    findPerson,
    notifiers,
    caPem: identity.certificate.ca,
    issueCertificate: identity.issueCertificate,
    models: models.offer,
    providerOf: (model: string) => {
      const provider = models.providerOf(model);
      return provider === undefined || point === null ? provider : around.provider(provider);
    },
    lines,
    probe: called.probe,
    configured: createServerList(config.AGENT_SERVERS, config.AGENT_SERVERS_FILE, log),
    auditReader: createAuditReader(database, people),
    auditProofs: createAuditProofs(database),
    people,
    ...masterKeys,
    auditSearch: createAuditSearch(database, people),
    openAnswers: createOpenAnswers(),
    guard: createMassExpiryGuard(clock, 60_000),
    normalGapMs: normalGapMs(config.LEMNISCATE_LEASE_MS),
    rebuildLedger: createRebuildLedger({
      database,
      reservations: delivery.reservations,
      startingLimit: config.LEMNISCATE_SERVER_STARTING_LIMIT,
    }),
    settleUsage: (claim: AttemptClaim) =>
      settleAttempt(
        { database, audit, events, priceBook, clock, open, log, live: delivery.live, gatewayId },
        claim,
      ),
    bundleAddress: (projectId: string, sha256: string) =>
      objects.presignGet(objectKey(projectId, sha256), bundleAddressSeconds),
  };

  const internal = await serveInternal(deps, {
    host: config.LEMNISCATE_INTERNAL_HOST,
    port: config.LEMNISCATE_INTERNAL_PORT,
    certificate: identity.certificate,
  });
  parts.defer(internal.close);
  const leadership = await startLeadership(directUrlOf(config), log);
  parts.defer(leadership.close);
  const jobs = startJobs({ ...deps, leadership });
  parts.defer(() => jobs.stop(closeMs));
  let port = config.LEMNISCATE_PORT;
  const issuer = createConfiguredIssuer(config, clock, () => mcpResource(publicUrlOf(config, port)));
  const access = { database, administrators: config.LEMNISCATE_ADMINISTRATORS };
  const newSecret = () => randomBytes(32).toString('base64url');
  const loginFailures = createLoginFailures(deps);
  parts.defer(() => loginFailures.close());
  const front = await servePublic(
    {
      ...deps,
      authenticator: withLoginsRecorded(
        withPseudonyms(
          withRevocation(
            createAuthenticator({
              ...access,
              local: identity.localLogin,
              verifyIssued:
                issuer === null ? null : (...token) => authenticateIssued(access, issuer, ...token),
            }),
            database,
          ),
          people,
          database,
        ),
        deps,
      ),
      loginFailures,
      newSecret,
      browserLinks: createBrowserLinks(clock, newSecret),
      consoleFolder: config.LEMNISCATE_CONSOLE_FOLDER ?? null,
      rowWatch: createRowWatch({ database, signals, clock, log }),
      administrators: access.administrators,
      loginMs: config.LEMNISCATE_LOGIN_HOURS * 3_600_000,
      issuer,
      requestsPerMinute: config.LEMNISCATE_REQUESTS_PER_MINUTE,
      trustedProxies: config.LEMNISCATE_TRUSTED_PROXIES,
      issuerUrl: config.LEMNISCATE_OIDC_ISSUER ?? null,
      scopes: config.LEMNISCATE_OIDC_SCOPES.split(' ').filter((scope) => scope !== ''),
      publicUrl: () => publicUrlOf(config, port),
      internalUrl: () => `https://${config.LEMNISCATE_INTERNAL_HOST}:${internal.port}`,
      ready: { postgres: () => database.query('SELECT 1'), redis: () => delivery.redis.ping() },
    },
    {
      host: config.LEMNISCATE_HOST,
      port: config.LEMNISCATE_PORT,
      // Plain HTTP never leaves the machine.
      certificate: isLoopback(config.LEMNISCATE_HOST) ? null : identity.certificate,
    },
  );
  parts.defer(front.close);
  port = front.port;
  return { publicPort: front.port, internalPort: internal.port };
}

/** The fleet's mail server; null where the operator names none. @throws CodedError `configuration_invalid` */
function mailServerOf(config: DispatcherConfig) {
  const { LEMNISCATE_SMTP_URL: url, LEMNISCATE_SMTP_FROM: from } = config;
  if (url === undefined) return null;
  if (from !== undefined && /^smtps?:\/\//.test(url.reveal()) && URL.canParse(url.reveal()))
    return { url, from };
  throw new CodedError(
    'configuration_invalid',
    'LEMNISCATE_SMTP_URL must be a URL of smtp: or smtps: with the login, host and port, and needs LEMNISCATE_SMTP_FROM beside it.',
  );
}

/** Where people reach the public listener. */
function publicUrlOf(config: DispatcherConfig, port: number): URL {
  const scheme = isLoopback(config.LEMNISCATE_HOST) ? 'http' : 'https';
  return new URL(config.LEMNISCATE_PUBLIC_URL ?? `${scheme}://${config.LEMNISCATE_HOST}:${port}`);
}

/** Ticks come each second; an absence shorter than a heartbeat's distance costs nobody a renewal. */
function normalGapMs(leaseMs: number): number {
  return Math.max(1_500, Math.min(4_000, leaseMs / 3));
}
