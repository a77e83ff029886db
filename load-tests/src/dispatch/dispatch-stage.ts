import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createDatabase } from '@lemniscate/dispatcher/adapters/postgres/database.ts';
import type { PostgresDatabase } from '@lemniscate/dispatcher/adapters/postgres/database.ts';
import { openCertificateAuthority } from '@lemniscate/local/certificate-authority.ts';
import type { CertificateAuthority } from '@lemniscate/local/certificate-authority.ts';
import { readLocalConfig } from '@lemniscate/local/config.ts';
import { openDataFolder } from '@lemniscate/local/data-folder.ts';
import { openPortBook } from '@lemniscate/local/port-book.ts';
import { freePort } from '@lemniscate/local/process/free-port.ts';
import { startStores } from '@lemniscate/local/stores.ts';
import type { Stores } from '@lemniscate/local/stores.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import type { BenchIo } from '../benchmark.ts';
import { noFaults } from '../simulated/plan.ts';
import type { SimulationPlan } from '../simulated/plan.ts';
import { startSimulatedFleet } from '../simulated/simulated-fleet.ts';
import type { SimulatedFleet } from '../simulated/simulated-fleet.ts';
import type { SimulatedServer } from '../simulated/simulated-server.ts';

/** A dispatcher of the stage as its callers see it. */
export interface StageDispatcher {
  readonly publicUrl: string;
  readonly internalUrl: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Stores, an authority and simulated servers; dispatchers come and go. */
export interface DispatchStage {
  readonly stores: Stores;
  readonly database: PostgresDatabase;
  readonly authority: CertificateAuthority;
  readonly fleet: SimulatedFleet;
  readonly token: string;
  /** When each session's order arrived, by session (`performance.now`). */
  readonly arrivals: ReadonlyMap<string, number>;
  /** The order that a server has taken last; null: none yet. */
  lastOrder(): SessionOrder | null;
  startDispatchers(
    count: number,
    environment?: Readonly<Record<string, string>>,
  ): Promise<readonly StageDispatcher[]>;
  /** From now on sessions stand still when their order has been accepted, until the stage is asked to be idle. */
  holdSessions(): void;
  /**
   * Lets held sessions go on; resolves when none is left, servers have said so and the record has counted their costs: what
   * an earlier load left does not weigh on the next one.
   */
  isIdle(): Promise<void>;
}

/** The fleet of a stage. */
export interface FleetShape {
  readonly servers: number;
  /** Sessions that each takes at once. */
  readonly capacity: number;
  readonly heartbeatMs: number;
}

const usualFleet: FleetShape = { servers: 20, capacity: 200, heartbeatMs: 2_000 };

/** Builds the stage; `parts` undoes it. */
export async function openDispatchStage(
  io: BenchIo,
  parts: AsyncDisposableStack,
  /** What sessions do once they run; absent: they end after 20 ms. */
  doing: Pick<SimulationPlan, 'work' | 'talk'> = { work: { kind: 'fixed', ms: 20 } },
  shape: FleetShape = usualFleet,
): Promise<DispatchStage> {
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-bench-dispatch-'));
  chmodSync(folder, 0o755);
  parts.defer(() => rmSync(folder, { recursive: true, force: true }));
  const data = openDataFolder({ LEMNISCATE_DATA: join(folder, 'data') }, io.projectRoot);
  const ports = openPortBook(data);
  parts.defer(ports.close);
  const stores = await startStores(data, ports, readLocalConfig({}), { durable: true, say: io.say });
  parts.defer(() => stores.stop());
  const keys = join(folder, 'keys');
  mkdirSync(keys);
  const authority = await openCertificateAuthority(keys);
  const token = randomUUID();
  const loginFile = join(folder, 'login.json');
  const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
  writeFileSync(loginFile, JSON.stringify({ token, subject: 'bench', name: 'Bench', expiresAt }));

  const arrivals = new Map<string, number>();
  let lastOrder: SessionOrder | null = null;
  let gate: PromiseWithResolvers<void> | null = null;
  let internalUrls: readonly string[] = [];
  let beating = false;
  const fleet = await startSimulatedFleet({
    plan: {
      seed: 1,
      ...shape,
      pool: 'default',
      start: { kind: 'fixed', ms: 1 },
      ...doing,
      faults: noFaults,
    },
    ca: authority.certificate,
    caKey: authority.key,
    dispatcherUrls: () => internalUrls,
    onTaken: ({ order, at }) => {
      lastOrder = order;
      if (!arrivals.has(order.sessionId)) arrivals.set(order.sessionId, at);
    },
    mayGoOn: () => gate?.promise ?? Promise.resolve(),
  });
  parts.defer(() => fleet.close());
  const environmentOf = async (name: string, port: number, internalPort: number) => {
    const own = await authority.certificateFor('dispatcher', name);
    return {
      PATH: io.environment['PATH'] ?? '',
      HOME: io.environment['HOME'] ?? '/',
      DATABASE_URL: stores.databaseUrl,
      REDIS_URL: stores.redisUrl,
      S3_ENDPOINT: stores.s3.endpoint,
      AWS_ACCESS_KEY_ID: stores.s3.accessKeyId,
      AWS_SECRET_ACCESS_KEY: stores.s3.secretAccessKey,
      AWS_REGION: stores.s3.region,
      LEMNISCATE_PORT: String(port),
      LEMNISCATE_INTERNAL_PORT: String(internalPort),
      LEMNISCATE_TLS_CA: authority.certificate,
      LEMNISCATE_TLS_CERT: own.certificate,
      LEMNISCATE_TLS_KEY: own.key,
      LEMNISCATE_LOCAL_LOGIN: loginFile,
      LEMNISCATE_LOG_LEVEL: 'error',
      LEMNISCATE_QUEUE_MAX_BACKLOG: '1000000',
      LEMNISCATE_SERVER_STARTING_LIMIT: '10000',
      LEMNISCATE_EXIT_WITH_PARENT: 'true',
      AGENT_SERVERS: fleet.addresses.join(','),
    };
  };
  const startOne = async (
    index: number,
    extra: Readonly<Record<string, string>>,
  ): Promise<StageDispatcher> => {
    const [own, internal] = [await freePort(), await freePort()];
    parts.defer(own.release);
    parts.defer(internal.release);
    const [port, internalPort] = [own.port, internal.port];
    const child = spawn(process.execPath, [join(io.projectRoot, 'services/dispatcher/src/main.ts')], {
      cwd: io.projectRoot,
      env: { ...(await environmentOf(`bench-${index}`, port, internalPort)), ...extra },
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    const publicUrl = `http://127.0.0.1:${port}`;
    await answers(publicUrl, child);
    return {
      publicUrl,
      internalUrl: `https://127.0.0.1:${internalPort}`,
      pid: child.pid ?? 0,
      stop: async () => {
        if (child.exitCode !== null) return;
        const gone = once(child, 'exit');
        child.kill('SIGTERM');
        await gone;
      },
    };
  };
  const database = createDatabase({
    url: new URL(stores.databaseUrl),
    connections: 40,
    statementTimeoutMs: 300_000,
    onConnectionError: () => undefined,
  });
  parts.defer(() => database.close());
  return {
    stores,
    database,
    authority,
    fleet,
    token,
    arrivals,
    lastOrder: () => lastOrder,
    holdSessions: () => {
      gate = Promise.withResolvers();
    },
    isIdle: async () => {
      gate?.resolve();
      gate = null;
      for (const until = performance.now() + readyWithinMs; performance.now() < until; await delay(50))
        if (fleet.servers.every(isQuiet) && (await isCosted(database))) return;
      throw new Error(`sessions are still held, told of or not counted after ${readyWithinMs} ms`);
    },
    startDispatchers: async (count, environment = {}) => {
      const started: StageDispatcher[] = [];
      for (let index = 0; index < count; index += 1) {
        const one = await startOne(index, environment);
        parts.defer(() => one.stop());
        started.push(one);
      }
      internalUrls = started.map(({ internalUrl }) => internalUrl);
      const [first] = started;
      if (first !== undefined) await allUsable(first.publicUrl, token, shape.servers);
      if (!beating) fleet.startHeartbeats();
      beating = true;
      return started;
    },
  };
}

const readyWithinMs = 60_000;

/** Each end of a session is followed by a heartbeat: hundreds of them wait behind the last one. */
function isQuiet(server: SimulatedServer): boolean {
  return server.status().held.length === 0 && server.calling() === 0;
}

async function isCosted(database: PostgresDatabase): Promise<boolean> {
  const rows = await database.query('SELECT FROM attempts WHERE NOT costed AND ended_at IS NOT NULL LIMIT 1');
  return rows.length === 0;
}

async function answers(url: string, child: ChildProcess): Promise<void> {
  for (const until = performance.now() + readyWithinMs; performance.now() < until; await delay(50)) {
    if (child.exitCode !== null) throw new Error(`the dispatcher ended with ${child.exitCode}`);
    const ready = await fetch(`${url}/readyz`).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ready) return;
  }
  throw new Error(`the dispatcher did not answer within ${readyWithinMs} ms`);
}

async function allUsable(url: string, token: string, servers: number): Promise<void> {
  for (const until = performance.now() + readyWithinMs; performance.now() < until; await delay(100)) {
    const answer = await fetch(`${url}/v1/servers`, { headers: { authorization: `Bearer ${token}` } });
    const { servers: seen } = (await answer.json()) as { servers: { usable: number }[] };
    if (seen.filter(({ usable }) => usable > 0).length === servers) return;
  }
  throw new Error('not every simulated server came into use');
}
