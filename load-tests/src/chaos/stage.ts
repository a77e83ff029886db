import { randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { createApiClient } from '@lemniscate/cli/api-client.ts';
import { createDatabase } from '@lemniscate/dispatcher/adapters/postgres/database.ts';
import type { PostgresDatabase } from '@lemniscate/dispatcher/adapters/postgres/database.ts';
import { openCertificateAuthority } from '@lemniscate/local/certificate-authority.ts';
import type { CertificateFiles } from '@lemniscate/local/certificate-authority.ts';
import { readLocalConfig } from '@lemniscate/local/config.ts';
import { openDataFolder } from '@lemniscate/local/data-folder.ts';
import { openPortBook } from '@lemniscate/local/port-book.ts';
import { freePort } from '@lemniscate/local/process/free-port.ts';
import type { ProcessPlan } from '@lemniscate/local/process/managed-process.ts';
import { readyOverHttp, readyOverTls } from '@lemniscate/local/readiness.ts';
import { unboundedHere } from '@lemniscate/local/service-environment.ts';
import { superviseService } from '@lemniscate/local/service-process.ts';
import type { SupervisedService } from '@lemniscate/local/service-process.ts';
import { startStores } from '@lemniscate/local/stores.ts';
import type { Stores } from '@lemniscate/local/stores.ts';
import { openCrashBook } from './crash-book.ts';
import type { CrashBook, PartKind } from './crash-book.ts';
import { openLine } from './line.ts';
import type { Line } from './line.ts';
import { openPostgresPair } from './postgres-pair.ts';
import { startProvider } from './provider.ts';
import type { ChaosProvider } from './provider.ts';
import { openRedisPair } from './redis-pair.ts';
import type { StorePair } from './redis-pair.ts';
import { mountSmallDisk } from './small-disk.ts';
import type { ServerDisk } from './small-disk.ts';

/** A process of the stage. */
export interface Part {
  readonly name: string;
  readonly kind: PartKind;
  readonly service: SupervisedService;
  /** File with the milliseconds by which its wall clock is ahead. */
  readonly clockFile: string;
}

/** A whole fleet as processes, with a breakable line between any two. */
export interface ChaosStage {
  readonly folder: string;
  readonly stores: Stores;
  readonly postgres: StorePair;
  readonly redis: StorePair;
  readonly provider: ChaosProvider;
  readonly parts: readonly Part[];
  readonly lines: readonly Line[];
  readonly book: CrashBook;
  readonly database: PostgresDatabase;
  readonly apiUrls: readonly string[];
  readonly token: string;
  /** Folder of the exporter's sink: a small disk of its own where we may mount one. */
  readonly sinkFolder: string;
  readonly sinkIsDisk: boolean;
  /** A simulated server whose state lies on a small disk of its own; null where we may not mount one. */
  readonly serverDisk: ServerDisk | null;
  /** The simulated projects, as often as they are to be asked for. */
  readonly projects: readonly string[];
  /** Runs in real sandboxes; null where there is no real server. */
  readonly realProject: string | null;
}

export interface StageOptions {
  readonly projectRoot: string;
  readonly folder: string;
  readonly seed: number;
  readonly withRealServer: boolean;
  readonly crashChance: number;
  /** Whether somebody has to die at points that are passed while the stage is set up. */
  readonly exhaustive: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly say: (line: string) => void;
}

/** Short times, so that a lost server is noticed within seconds and minutes hold many faults. Milliseconds. */
export const leaseMs = 6_000;
export const graceMs = 1_000;
const dispatchers = 3;
const simulated = 3;
const slots = 16;

const policy = `
tools: {read_file: allow, write_file: allow, edit_file: allow, list_files: allow, run_command: allow}
`;

/** Builds the stage; `undo` takes everything down again, also a half-built one. */
export async function openStage(options: StageOptions, undo: AsyncDisposableStack): Promise<ChaosStage> {
  const { folder, projectRoot, say } = options;
  chmodSync(folder, 0o755);
  const data = openDataFolder({ LEMNISCATE_DATA: join(folder, 'data') }, projectRoot);
  const ports = openPortBook(data);
  undo.defer(ports.close);
  const stores = await startStores(data, ports, readLocalConfig({}), { durable: true, say });
  undo.defer(stores.stop);
  const postgres = await openPostgresPair(data, stores, undo, say);
  const redis = await openRedisPair(data, stores, undo, say);
  const provider = await startProvider();
  undo.defer(provider.close);
  const authority = await openCertificateAuthority(data.folder('certificates'));
  const token = randomUUID();
  const loginFile = join(folder, 'login.json');
  const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
  writeFileSync(loginFile, JSON.stringify({ token, subject: 'chaos', name: 'Chaos', expiresAt }));

  const names: { name: string; kind: PartKind }[] = [];
  for (let at = 1; at <= dispatchers; at += 1) names.push({ name: `dispatcher-${at}`, kind: 'dispatcher' });
  for (let at = 1; at <= simulated; at += 1) names.push({ name: `server-${at}`, kind: 'server' });
  if (options.withRealServer) names.push({ name: 'real-1', kind: 'real' });
  names.push({ name: 'exporter', kind: 'exporter' });
  const points = join(folder, 'points');
  mkdirSync(points);
  chmodSync(points, 0o777);
  const book = openCrashBook({
    folder: points,
    parts: names,
    seed: options.seed,
    chance: options.crashChance,
  });
  book.write();

  const lines: Line[] = [];
  const line = async (name: string, target: () => number): Promise<number> => {
    const opened = await openLine(name, target);
    undo.defer(opened.close);
    lines.push(opened);
    return opened.port;
  };
  const portOf = (url: string): number => Number(new URL(url).port);
  const through = (url: string, port: number): string => {
    const changed = new URL(url);
    changed.port = String(port);
    return changed.href;
  };
  const claim = async (): Promise<number> => {
    const claimed = await freePort();
    undo.defer(claimed.release);
    return claimed.port;
  };

  const clockOf = (name: string): string => join(folder, `${name}.clock`);
  const shifted = pathToFileURL(join(projectRoot, 'load-tests/src/chaos/shifted-clock.ts')).href;
  const parts: Part[] = [];
  const start = async (
    { name, kind }: { name: string; kind: PartKind },
    program: string,
    env: Record<string, string>,
    probe: () => Promise<boolean>,
    firstDeaths: readonly string[] = [],
  ): Promise<void> => {
    const plan: ProcessPlan = {
      name,
      command: process.execPath,
      args: ['--import', shifted, join(projectRoot, program)],
      env: {
        PATH: options.environment['PATH'] ?? '',
        HOME: options.environment['HOME'] ?? '/',
        NODE_COMPILE_CACHE: join(projectRoot, 'node_modules/.cache/lemniscate'),
        LEMNISCATE_CHAOS_CLOCK: clockOf(name),
        LEMNISCATE_CRASH_POINTS: book.planOf(name),
        LEMNISCATE_EXIT_WITH_PARENT: 'true',
        ...env,
      },
      cwd: projectRoot,
      logFile: join(data.folder('logs'), `${name}.log`),
      records: data.folder('run'),
      stopSignal: 'SIGTERM',
      deathSignal: 'TERM',
      stopGraceMs: 15_000,
      ready: { probe },
      readyWithinMs: 60_000,
    };
    for (const point of firstDeaths) {
      book.plan(name, point);
      // A first life that ends before it is ready is an error to whoever starts it, and the plan here.
      await superviseService(plan, () => undefined).then(
        (life) => life.stop(),
        () => undefined,
      );
    }
    if (firstDeaths.length > 0) book.write();
    const service = await superviseService(
      plan,
      () => undefined,
      // Dying is what they are here for: nobody is given up.
      { crashes: 1_000_000, windowMs: 1_000, firstPauseMs: 50, longestPauseMs: 200 },
    );
    parts.push({ name, kind, service, clockFile: clockOf(name) });
    undo.defer(service.stop);
  };

  const serverNames = names.filter(({ kind }) => kind === 'server' || kind === 'real');
  const serverPorts = new Map<string, number>();
  const addresses: string[] = [];
  for (const { name, kind } of serverNames) {
    const port = await claim();
    serverPorts.set(name, port);
    const reached = await line(`dispatchers-${name}`, () => port);
    addresses.push(`https://127.0.0.1:${reached}${kind === 'real' ? ';pool=real' : ''}`);
  }

  const apiUrls: string[] = [];
  const internalPorts: number[] = [];
  const certificates: CertificateFiles[] = [];
  const startDispatcher = async (name: string): Promise<void> => {
    const [api, internal] = [await claim(), await claim()];
    const own = await authority.certificateFor('dispatcher', name);
    const providers = join(folder, `${name}.providers.yaml`);
    const toProvider = await line(`${name}-provider`, () => provider.port);
    writeFileSync(
      providers,
      JSON.stringify({
        providers: [
          {
            name: 'chaos',
            api: 'anthropic',
            baseUrl: `http://127.0.0.1:${toProvider}`,
            models: ['claude-sonnet-4-6'],
            prices: 'anthropic',
          },
        ],
      }),
    );
    const toPostgres = await line(`${name}-postgres`, () => portOf(postgres.url()));
    const toRedis = await line(`${name}-redis`, () => portOf(redis.url()));
    const toS3 = await line(`${name}-s3`, () => portOf(stores.s3.endpoint));
    apiUrls.push(`http://127.0.0.1:${api}`);
    internalPorts.push(internal);
    certificates.push(own);
    const env = {
      DATABASE_URL: through(stores.databaseUrl, toPostgres),
      REDIS_URL: through(stores.redisUrl, toRedis),
      S3_ENDPOINT: through(stores.s3.endpoint, toS3).replace(/\/$/, ''),
      AWS_ACCESS_KEY_ID: stores.s3.accessKeyId,
      AWS_SECRET_ACCESS_KEY: stores.s3.secretAccessKey,
      AWS_REGION: stores.s3.region,
      LEMNISCATE_PORT: String(api),
      LEMNISCATE_INTERNAL_PORT: String(internal),
      LEMNISCATE_TLS_CA: authority.certificate,
      LEMNISCATE_TLS_CERT: own.certificate,
      LEMNISCATE_TLS_KEY: own.key,
      LEMNISCATE_LOCAL_LOGIN: loginFile,
      LEMNISCATE_PROVIDERS: providers,
      LEMNISCATE_MODEL: 'claude-sonnet-4-6',
      LEMNISCATE_LEASE_MS: String(leaseMs),
      LEMNISCATE_GRACE_MS: String(graceMs),
      LEMNISCATE_START_TIMEOUT_MS: '15000',
      LEMNISCATE_QUEUE_MAX_WAIT_SECONDS: '7200',
      LEMNISCATE_LOG_LEVEL: 'info',
      AGENT_SERVERS: addresses.join(','),
    };
    await start({ name, kind: 'dispatcher' }, 'services/dispatcher/src/main.ts', env, readyOverHttp(api));
  };
  // One after the other: they take turns at the migrations, and a stage comes up on two cores.
  for (const { name, kind } of names) if (kind === 'dispatcher') await startDispatcher(name);

  const [asked] = certificates;
  if (asked === undefined) throw new Error('a stage has a dispatcher');
  let turn = 0;
  const anyDispatcher = (): number => internalPorts[turn++ % internalPorts.length] ?? 0;
  let serverDisk: ServerDisk | null = null;
  for (const { name, kind } of serverNames) {
    const own = await authority.certificateFor('agent-server', name);
    const stateFolder = data.folder(join('agent-servers', name), 0o711);
    // A little more than a server has to have free, so that little fills it.
    if (serverDisk === null && kind === 'server' && mountSmallDisk(stateFolder, '544m', undo))
      serverDisk = { server: name, folder: stateFolder, reasons: [] };
    const port = serverPorts.get(name) ?? 0;
    const toDispatchers = await line(`${name}-dispatchers`, anyDispatcher);
    const env = {
      LEMNISCATE_SERVER_PORT: String(port),
      LEMNISCATE_DISPATCHER_URL: `https://127.0.0.1:${toDispatchers}`,
      LEMNISCATE_TLS_CA: authority.certificate,
      LEMNISCATE_TLS_CERT: own.certificate,
      LEMNISCATE_TLS_KEY: own.key,
      LEMNISCATE_STATE_FOLDER: stateFolder,
      LEMNISCATE_CAPACITY: String(kind === 'real' ? 2 : slots),
      LEMNISCATE_SANDBOX_DRIVER: 'bubblewrap',
      ...(unboundedHere() === '' ? {} : { LEMNISCATE_WAIVE_LIMITS: unboundedHere() }),
      LEMNISCATE_ALLOW_LOCAL_PATHS: 'true',
    };
    const program =
      kind === 'real' ? 'services/agent-server/src/main.ts' : 'load-tests/src/chaos/server-main.ts';
    await start({ name, kind }, program, env, readyOverTls(port, authority, asked));
  }

  const sinkFolder = join(folder, 'sink');
  mkdirSync(sinkFolder);
  const sinkIsDisk = mountSmallDisk(sinkFolder, '256m', undo);
  const exporterPort = await claim();
  const toPostgres = await line('exporter-postgres', () => portOf(postgres.url()));
  await start(
    { name: 'exporter', kind: 'exporter' },
    'services/audit-exporter/src/main.ts',
    {
      DATABASE_URL: through(stores.databaseUrl, toPostgres),
      LEMNISCATE_LOG_KEY: join(data.folder('secrets'), 'audit-log-key.pem'),
      LEMNISCATE_SINK_FILE: join(sinkFolder, 'entries.ndjson'),
      LEMNISCATE_EXPORTER_PORT: String(exporterPort),
    },
    readyOverHttp(exporterPort),
    // The log gets its first key once.
    ['commit seal.addFirstKey:before', 'commit seal.addFirstKey:after'],
  );

  const ownLine = await line('harness-postgres', () => portOf(postgres.url()));
  const database = createDatabase({
    url: new URL(through(stores.databaseUrl, ownLine)),
    connections: 5,
    statementTimeoutMs: 60_000,
    onConnectionError: () => undefined,
  });
  undo.defer(database.close);
  const projects = ['chaos-large', 'chaos-small', 'chaos-capped'];
  const realProject = options.withRealServer ? 'chaos-real' : null;
  const client = createApiClient({ url: apiUrls.at(-1) ?? '', token });
  const makeProject = (id: string) =>
    client.json('/v1/projects', z.unknown(), { method: 'POST', body: { id, policy } });
  if (options.exhaustive) await dieInSetUp(book, `dispatcher-${dispatchers}`, makeProject);
  for (const id of [...projects, ...(realProject === null ? [] : [realProject])])
    await retried(() => makeProject(id));
  await database.query(`UPDATE projects SET queue_weight = 4 WHERE id = 'chaos-large'`);
  await database.query(`UPDATE projects SET max_concurrent = 6 WHERE id = 'chaos-capped'`);
  await database.query(`UPDATE projects SET pool = 'real' WHERE id = 'chaos-real'`);
  return {
    folder,
    stores,
    postgres,
    redis,
    provider,
    parts,
    lines,
    book,
    database,
    apiUrls,
    token,
    sinkFolder,
    sinkIsDisk,
    serverDisk,
    // Whose turn comes six at a time must not get more than that carries: its backlog would outlast the storm.
    projects: projects.flatMap((id) => Array<string>(id === 'chaos-capped' ? 1 : 3).fill(id)),
    realProject,
  };
}

/** A dispatcher passes these when its first person comes and projects are made, and not in a storm. */
const setUpPoints = ['write postgres/people-map', 'commit projects/change-policy'].flatMap((name) => [
  `${name}:before`,
  `${name}:after`,
]);
/** Longer than whoever lives takes to see a new plan. Milliseconds. */
const planSeenMs = 1_000;
const setUpDeathMs = 60_000;

/** @param make makes a project, at the dispatcher that is to die */
async function dieInSetUp(
  book: CrashBook,
  name: string,
  make: (project: string) => Promise<unknown>,
): Promise<void> {
  let number = 0;
  for (const point of setUpPoints) {
    book.plan(name, point);
    await delay(planSeenMs);
    let fault: unknown;
    for (const until = performance.now() + setUpDeathMs; !book.hasDied('dispatcher', point);) {
      if (performance.now() > until)
        throw new Error(`nobody died at ${point} while the stage was set up`, { cause: fault });
      number += 1;
      // It dies of it, or is not up again yet.
      await make(`chaos-set-up-${number}`).catch((error: unknown) => (fault = error));
      await delay(200);
    }
  }
  book.write();
}

async function retried<Value>(act: () => Promise<Value>): Promise<Value> {
  for (let tries = 1; ; tries += 1)
    try {
      return await act();
    } catch (error) {
      // Half a minute: who died while the stage was set up has to come up again on a busy machine.
      if (tries === 60) throw error;
      await delay(500);
    }
}
