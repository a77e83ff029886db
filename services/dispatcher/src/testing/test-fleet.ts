import { randomUUID } from 'node:crypto';
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { pino } from 'pino';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import { serviceUri } from '@lemniscate/shared/protocol/identity.ts';
import { readDispatcherConfig } from '../config.ts';
import { startDispatcher } from '../start-dispatcher.ts';
import type { RunningDispatcher } from '../start-dispatcher.ts';
import { createTestAuthority } from './certificates.ts';
import type { TestAuthority } from './certificates.ts';
import { startOwnRedis } from './own-redis.ts';
import { startDispatcherProcess } from './dispatcher-process.ts';
import type { OwnRedis } from './own-redis.ts';
import { startSimulatedAgentServer } from './simulated-agent-server.ts';
import type { SimulatedAgentServer } from './simulated-agent-server.ts';
import { createTestDatabase } from './test-database.ts';
import { testVariable } from './test-variable.ts';
import { within } from './within.ts';

export interface ApiAnswer<Body> {
  readonly status: number;
  readonly body: Body;
  readonly type: string | null;
  readonly etag: string | null;
}

/** One dispatcher of a fleet, as its callers see it. */
export interface TestDispatcher extends RunningDispatcher {
  call<Body>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<ApiAnswer<Body>>;
}

/** Real Postgres, Redis, S3, TLS and dispatchers; only the agent servers are simulated. */
export interface TestFleet {
  readonly authority: TestAuthority;
  readonly redis: OwnRedis;
  readonly servers: readonly SimulatedAgentServer[];
  /** Straight into the record, as its owner. */
  readonly sql: <Row extends Record<string, unknown>>(text: string, values?: unknown[]) => Promise<Row[]>;
  readonly token: string;
  /** Where the first dispatcher takes heartbeats. */
  readonly internalUrl: () => string;
  environment(extra?: Record<string, string>): Promise<Record<string, string>>;
  /** In the test's own process. */
  startDispatcher(extra?: Record<string, string>): Promise<TestDispatcher>;
  /** In a process of its own, as it is shipped. */
  startDispatcherProcess(extra?: Record<string, string>): Promise<TestDispatcher>;
  session(id: string): Promise<SessionView>;
  /** Waits until the session is in the state. */
  until(id: string, state: string, ms?: number): Promise<SessionView>;
  remove(): Promise<void>;
}

export interface FleetOptions {
  readonly servers: readonly { readonly name: string; readonly capacity: number }[];
  /** Of the one who calls; absent: all of them. */
  readonly roles?: readonly string[];
  /** Also believed by everything in it, as PEM. */
  readonly alsoBelieved?: string;
}

/** The body of an ordinary request. */
export const ordinaryRequest = {
  instruction: 'mend the test',
  repository: { kind: 'git', url: 'https://example.invalid/r.git' },
} as const;

/** Builds a fleet; its first dispatcher is started by the test, with the variables that it needs. */
export async function createTestFleet(options: FleetOptions): Promise<TestFleet> {
  const parts = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'lemniscate-fleet-'));
  parts.defer(() => rm(folder, { recursive: true, force: true }));
  const authority = await createTestAuthority();
  parts.defer(() => authority.remove());
  if (options.alsoBelieved !== undefined) await appendFile(authority.ca, `\n${options.alsoBelieved}`);
  const database = await createTestDatabase();
  parts.defer(() => database.drop());
  const redis = await startOwnRedis();
  parts.defer(() => redis.remove());
  let internalUrl = '';
  const servers: SimulatedAgentServer[] = [];
  for (const { name, capacity } of options.servers) {
    const server = await startSimulatedAgentServer({
      name,
      capacity,
      authority,
      dispatcherUrl: () => internalUrl,
    });
    parts.defer(() => server.close());
    servers.push(server);
  }
  const token = randomUUID();
  const loginFile = join(folder, 'login.json');
  await writeFile(
    loginFile,
    JSON.stringify({
      token,
      subject: 'p-1',
      name: 'Pat',
      ...(options.roles === undefined ? {} : { roles: options.roles }),
      expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
    }),
  );
  const identity = await authority.issue(serviceUri('dispatcher', 'test'));
  const client = new Client({ connectionString: database.url.href });
  let connected: Promise<unknown> | null = null;
  parts.defer(async () => {
    if (connected !== null) await client.end();
  });
  const sql = async <Row extends Record<string, unknown>>(
    query: string,
    values: unknown[] = [],
  ): Promise<Row[]> => {
    connected ??= client.connect();
    await connected;
    return (await client.query<Row>(query, values)).rows;
  };
  const dispatchers: TestDispatcher[] = [];

  const environment = async (extra: Record<string, string> = {}): Promise<Record<string, string>> => ({
    DATABASE_URL: database.url.href,
    REDIS_URL: redis.url.href,
    S3_ENDPOINT: testVariable('LEMNISCATE_TEST_S3_ENDPOINT'),
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    LEMNISCATE_PORT: '0',
    LEMNISCATE_INTERNAL_PORT: '0',
    LEMNISCATE_TLS_CA: authority.ca,
    LEMNISCATE_TLS_CERT: identity.cert,
    LEMNISCATE_TLS_KEY: identity.key,
    LEMNISCATE_CA_KEY: authority.caKey,
    LEMNISCATE_LOCAL_LOGIN: loginFile,
    AGENT_SERVERS: servers.map((server) => server.url).join(','),
    // Simulated sessions start and do no more unless their test makes them.
    LEMNISCATE_SERVER_STARTING_LIMIT: '10000',
    ...extra,
  });
  const enter = (running: RunningDispatcher): TestDispatcher => {
    if (internalUrl === '') internalUrl = `https://127.0.0.1:${running.internalPort}`;
    const dispatcher = { ...running, call: caller(running.publicPort, token) };
    dispatchers.push(dispatcher);
    return dispatcher;
  };
  const fleet: TestFleet = {
    authority,
    redis,
    servers,
    sql,
    token,
    internalUrl: () => internalUrl,
    environment,
    startDispatcher: async (extra) => {
      const config = readDispatcherConfig(await environment(extra));
      const level = process.env['LEMNISCATE_TEST_LOG'] ?? 'silent';
      return enter(await startDispatcher(config, pino({ level }, pino.destination({ dest: 2, sync: true }))));
    },
    startDispatcherProcess: async (extra) => enter(await startDispatcherProcess(await environment(extra))),
    session: async (id) => {
      const [first] = dispatchers;
      if (first === undefined) throw new Error('no dispatcher runs');
      return (await first.call<SessionView>('GET', `/v1/sessions/${id}`)).body;
    },
    until: async (id, state, ms = 30_000) => {
      let seen = '';
      await within(ms, `session ${id} is ${state}`, async () => {
        seen = (await fleet.session(id)).state;
        return seen === state;
      }).catch((error: unknown) => {
        throw new Error(`${String(error)} (it is ${seen})`, { cause: error });
      });
      return fleet.session(id);
    },
    remove: async () => {
      for (const server of servers) server.stopHeartbeats();
      for (const dispatcher of dispatchers) await dispatcher.stop();
      await parts.disposeAsync();
    },
  };
  return fleet;
}

function caller(port: number, token: string): TestDispatcher['call'] {
  return async (method, path, body, headers = {}) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const content = await answer.text();
    return {
      status: answer.status,
      type: answer.headers.get('content-type'),
      etag: answer.headers.get('etag'),
      body: content === '' ? null : JSON.parse(content),
    };
  };
}
