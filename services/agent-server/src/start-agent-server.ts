import { statfsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { systemClock } from '@lemniscate/shared/clock.ts';
import { aroundCalls } from '@lemniscate/shared/crash-points.ts';
import type { PointsOf } from '@lemniscate/shared/crash-points.ts';
import { createNewId } from '@lemniscate/shared/id.ts';
import { protocolVersion } from '@lemniscate/shared/protocol/protocol-version.ts';
import type { ServerStatus } from '@lemniscate/shared/protocol/server-status.ts';
import { bootTimeMs } from './adapters/boot-clock.ts';
import { readCrashPoint } from './adapters/crash-points.ts';
import { createDispatcherClient } from './adapters/dispatcher-client.ts';
import { createServeEgress } from './adapters/egress/connect-proxy.ts';
import type { Outside } from './adapters/egress/connect-proxy.ts';
import { createEnvironmentFolder } from './adapters/environments/environment-folder.ts';
import { createJournalFolder } from './adapters/journal-folder.ts';
import { joinFleet } from './adapters/join-fleet.ts';
import { lockFolder } from './adapters/folder-lock.ts';
import type { FolderLock } from './adapters/folder-lock.ts';
import { createObjectCache } from './adapters/object-cache-folder.ts';
import { createPatchSpoolFolder } from './adapters/patch-spool-folder.ts';
import { chooseDriver } from './adapters/choose-driver.ts';
import { readProfilesFile } from './adapters/profiles-file.ts';
import { createSnapshots } from './adapters/snapshot/snapshots.ts';
import { readTlsMaterial } from './adapters/tls-material.ts';
import type { TlsMaterial } from './adapters/tls-material.ts';
import { uploadObject } from './adapters/upload-object.ts';
import { checkFetchFiles } from './adapters/working-copy/fetch-files.ts';
import { createWorkingCopies } from './adapters/working-copy/working-copies.ts';
import { serverMetrics } from './application/server-metrics.ts';
import { requireLimits } from './application/required-limits.ts';
import { runtimeRegistry } from './application/runtimes/registry.ts';
import { createSessionDesk } from './application/sessions/session-desk.ts';
import { createWarmPool } from './application/warm-pool.ts';
import type { Config } from './config.ts';
import type { Dispatcher } from './application/ports/dispatcher.ts';
import type { Snapshots } from './application/ports/snapshots.ts';
import type { RouteDeps } from './http/route-deps.ts';
import { settingsOfServer } from './adapters/settings.ts';
import { createServer, listen } from './http/server.ts';
import { createLeakCheck } from './jobs/leak-check.ts';
import { createCleaner } from './jobs/cleaner.ts';
import { createOrderFetcher } from './jobs/fetch-orders.ts';
import { createHeartbeat } from './jobs/heartbeat.ts';
import { openTelemetry } from './open-telemetry.ts';

/** A running agent server. */
export interface AgentServer {
  readonly name: string;
  /** 0: it listens nowhere. */
  readonly port: number;
  status(): ServerStatus;
  /** Gives its sessions up, destroys every sandbox and stops; bounded and idempotent. */
  stop(): Promise<void>;
}

/**
 * Builds and starts an agent server: what an earlier process left is destroyed before anything new begins.
 * @param outside what egress reaches in the place of the internet
 * @throws CodedError that names the file, port or variable at fault
 */
export async function startAgentServer(config: Config, log: Logger, outside?: Outside): Promise<AgentServer> {
  if (config.join !== null) await joinFleet({ ...config.join, capacity: config.capacity }, config.tls, log);
  const tls = readTlsMaterial(config.tls, new Date());
  await mkdir(config.stateFolder, { recursive: true, mode: 0o711 });
  const lock = await lockFolder(config.stateFolder);
  try {
    return await startInFolder(config, tls, lock, log, outside);
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** What an agent server asks of its dispatcher. */
export const dispatcherCalls = {
  heartbeat: true,
  nextRequests: true,
  answerRequest: true,
  sendEvents: true,
  askPermit: true,
  nextMessage: true,
  sendResult: true,
  requestUpload: true,
  completeUpload: true,
  takeCheckpoint: true,
  giveBack: true,
  askModel: true,
  relayModel: true,
  objectAddresses: true,
  resolveEnvironment: true,
  warm: 'a handshake ahead of time: nothing is said',
  close: 'ends what this process holds; nothing is promised of it',
} as const satisfies PointsOf<Dispatcher>;

/** What puts a session away and brings it back. */
export const snapshotCalls = {
  pack: true,
  download: true,
  unpack: true,
  spool: 'a file that nobody knows of before it is uploaded',
  recover: 'removes files at a start; a start begins again',
} as const satisfies PointsOf<Snapshots>;

/** Repositories kept at hand, and told to the dispatcher. */
const maxMirrors = 64;
/** Environments kept at hand. */
const maxEnvironments = 32;

/** The disk that holds sandboxes and working copies. Asking takes a few microseconds. */
function diskOf(folder: string): Pick<ServerStatus, 'disk'> {
  const { bavail, blocks, bsize } = statfsSync(folder);
  return { disk: { freeBytes: bavail * bsize, totalBytes: blocks * bsize } };
}

async function startInFolder(
  config: Config,
  tls: TlsMaterial,
  lock: FolderLock,
  log: Logger,
  outside?: Outside,
): Promise<AgentServer> {
  const { fetchSsh, fetchAuthorityFile: authorityFile } = config;
  await checkFetchFiles({ sshKey: fetchSsh.key, knownHosts: fetchSsh.knownHosts, authorityFile });
  const profiles = await readProfilesFile(config.profilesFile);
  const image = profiles.find(({ name }) => name === 'default')?.image;
  const options = {
    stateFolder: config.stateFolder,
    serverId: tls.name,
    ...(image === undefined ? {} : { image }),
  };
  const driver = await chooseDriver(config.driver, options, log);
  const capabilities = await requireLimits(driver, config.waivedLimits, log);
  for (const profile of profiles) await driver.fingerprint(profile);
  const workingCopies = createWorkingCopies({
    stateFolder: join(config.stateFolder, 'working-copies'),
    driver,
    allowLocalPaths: config.allowLocalPaths,
    hosts: {
      privateHosts: config.fetchPrivateHosts,
      ssh: fetchSsh,
      ...(authorityFile === undefined ? {} : { authorityFile }),
    },
    maxRepositoryBytes: 8 * 1024 ** 3,
    maxRepositoryFiles: 1_000_000,
    maxMirrors,
    maxMirrorBytes: config.mirrorBytes,
    maxMirrorAgeMs: 14 * 24 * 3_600_000,
    onSpareFailure: (error) => log.warn({ err: error }, 'no working copy could be put aside'),
  });
  const journals = createJournalFolder(join(config.stateFolder, 'journals'));
  const spool = createPatchSpoolFolder(config.stateFolder);
  const objectCache = createObjectCache(join(config.stateFolder, 'objects'), 1024 ** 3);
  const point = readCrashPoint(config.crashPoints);
  if (point !== null)
    log.warn({}, 'LEMNISCATE_CRASH_POINTS is set: this process kills itself where it is told to');
  const snapshotStore = createSnapshots({ folder: join(config.stateFolder, 'snapshots'), driver });
  const snapshots =
    point === null ? snapshotStore : aroundCalls(point, 'disk snapshot', snapshotStore, snapshotCalls);
  const environments = createEnvironmentFolder({
    folder: join(config.stateFolder, 'environments'),
    snapshots,
    driver,
    profiles,
    maxKept: maxEnvironments,
  });
  const cleaner = createCleaner({ spool, workingCopies, environments, log });
  const destroyed = await driver.recover();
  await Promise.all([
    workingCopies.recover(),
    journals.recover(),
    spool.recover(),
    snapshots.recover(),
    environments.recover(),
    objectCache.trim(),
  ]);
  log.info({ server: tls.name, driver: driver.name, capabilities, destroyed }, 'starting');

  const watch = await openTelemetry(config, tls, () => serverMetrics(status(), desk), log);
  const client = createDispatcherClient(config.dispatcherUrl, tls, watch.traces);
  const dispatcher = point === null ? client : aroundCalls(point, 'http', client, dispatcherCalls);
  const store =
    point === null
      ? { uploadObject }
      : aroundCalls(point, 'http store', { uploadObject }, { uploadObject: true });
  const bootId = randomUUID();
  const pool = createWarmPool({
    driver,
    profiles,
    size: { floor: config.warm, ceiling: config.warmMax },
    maxAgeMs: config.warmMaxAgeMs,
    newId: createNewId(),
    clock: systemClock,
    log,
    onChange: () => heartbeat.soon(),
  });
  const desk = createSessionDesk(
    {
      pool,
      workingCopies,
      dispatcher,
      journals,
      spool,
      snapshots,
      environments,
      uploadObject: store.uploadObject,
      serveEgress: createServeEgress(outside),
      objectCache,
      runtimes: runtimeRegistry,
      clock: systemClock,
      programQuietMs: config.programQuietMs,
      bootTimeMs,
      log,
      traces: watch.traces,
    },
    { capacity: config.capacity, onChange: () => heartbeat.wake() },
  );
  const status = (): ServerStatus => {
    const { warm, coldStarts, profiles: offered, unhealthy } = pool.status();
    return {
      protocol: protocolVersion,
      bootId,
      capacity: config.capacity,
      held: desk.held(),
      warm,
      driver: driver.name,
      coldStarts,
      profiles: [...offered],
      runtimes: Object.keys(runtimeRegistry).filter((name) => name !== 'native'),
      architecture: process.arch,
      labels: [...config.labels],
      mirrors: workingCopies.mirrors().slice(0, maxMirrors),
      now: new Date().toISOString(),
      ...diskOf(config.stateFolder),
      draining: desk.draining(),
      ...(unhealthy === null ? {} : { unhealthy }),
    };
  };
  const heartbeat = createHeartbeat({
    dispatcher,
    desk,
    status,
    settings: settingsOfServer(config),
    bootTimeMs,
    log,
  });
  const door = await openDoor(config, tls, { desk, status, collectMetrics: watch.collect }, dispatcher, log);
  const leakCheck = createLeakCheck(driver, log);
  pool.start();
  cleaner.start();
  leakCheck.start();
  heartbeat.start();

  async function shutDown(): Promise<void> {
    await desk.drain();
    await pool.close();
    await leakCheck.stop();
    await workingCopies.close();
    cleaner.stop();
    await heartbeat.stop();
    await door.close();
    await dispatcher.close();
    await watch.stop();
    await lock.release();
  }
  let stopping: Promise<void> | null = null;
  log.info({ server: tls.name, port: door.port, driver: driver.name }, 'ready');
  return {
    name: tls.name,
    port: door.port,
    status,
    stop: () => {
      stopping ??= shutDown();
      return stopping;
    },
  };
}

/** How orders come in. */
interface Door {
  readonly port: number;
  close(): Promise<void>;
}

/** A port that the dispatcher calls; without one, orders are fetched. */
async function openDoor(
  config: Config,
  tls: TlsMaterial,
  deps: RouteDeps,
  dispatcher: Dispatcher,
  log: Logger,
): Promise<Door> {
  if (config.port === null) {
    const fetcher = createOrderFetcher({ dispatcher, desk: deps.desk, log });
    fetcher.start();
    return { port: 0, close: fetcher.stop };
  }
  const app = createServer(tls, deps, log);
  const port = await listen(app, config.host, config.port);
  return { port, close: () => app.close() };
}
