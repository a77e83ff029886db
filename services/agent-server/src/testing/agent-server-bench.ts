import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { pino } from 'pino';
import { Agent } from 'undici';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import type { ServerCommand } from '@lemniscate/shared/protocol/session-order.ts';
import { toolNames } from '@lemniscate/shared/tools/catalogue.ts';
import type { Config } from '../config.ts';
import { startAgentServer } from '../main.ts';
import type { AgentServer } from '../main.ts';
import { createBubblewrapDriver } from '../adapters/sandbox/bubblewrap/driver.ts';
import { createTestAuthority } from './certificates.ts';
import { startScriptedDispatcher } from './scripted-dispatcher.ts';
import type { ScriptedDispatcher } from './scripted-dispatcher.ts';

/** An agent server with everything real around it but the dispatcher, which follows the test's script. */
export interface Bench {
  readonly dispatcher: ScriptedDispatcher;
  readonly server: AgentServer;
  readonly config: Config;
  readonly repository: string;
  order(change?: Partial<SessionOrder>): SessionOrder;
  put(order: SessionOrder): Promise<{ status: number; body: Record<string, unknown> }>;
  remove(sessionId: string, attempt: number): Promise<number>;
  command(command: ServerCommand): Promise<number>;
  get(path: string): Promise<{ status: number; body: Record<string, unknown> }>;
  /** What still exists of sandboxes, journals, spooled patches and session folders; the warm sandboxes are not counted. */
  leftovers(): Promise<string[]>;
}

let count = 0;

/** Starts a bench and takes it down with the test. Needs root's rights or a kernel that lets users make namespaces. */
export async function startBench(t: TestContext, change: Partial<Config> = {}): Promise<Bench> {
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-agent-server-'));
  // bwrap is started as another user, which must be able to pass.
  chmodSync(folder, 0o711);
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const authority = await createTestAuthority(folder);
  const ofDispatcher = await authority.issue('dispatcher', 'spiffe://lemniscate/dispatcher/test');
  count += 1;
  const name = `bench-${process.pid}-${count}`;
  const own = await authority.issue('server', `spiffe://lemniscate/agent-server/${name}`);
  const dispatcher = await startScriptedDispatcher(authority.ca, ofDispatcher);
  t.after(() => dispatcher.close());
  const config: Config = {
    host: '127.0.0.1',
    port: 0,
    dispatcherUrl: dispatcher.url,
    tls: { ca: authority.caFile, cert: own.certFile, key: own.keyFile },
    stateFolder: join(folder, 'state'),
    capacity: 2,
    warm: 1,
    driver: 'bubblewrap',
    allowLocalPaths: true,
    exitWithParent: false,
    ...change,
  };
  const log = pino({ level: process.env['LEMNISCATE_TEST_LOG'] ?? 'silent' }, pino.destination(2));
  const server = await startAgentServer(config, log);
  t.after(() => server.stop());
  const agent = new Agent({ connect: { ca: authority.ca, cert: ofDispatcher.cert, key: ofDispatcher.key } });
  t.after(() => agent.destroy());
  const repository = makeRepository(join(folder, 'repository'));
  const send = async (method: 'GET' | 'PUT' | 'POST' | 'DELETE', path: string, body?: unknown) => {
    const answer = await agent.request({
      origin: `https://127.0.0.1:${server.port}`,
      path,
      method,
      ...(body === undefined
        ? {}
        : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    const text = await answer.body.text();
    return {
      status: answer.statusCode,
      body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>,
    };
  };
  const order = (given: Partial<SessionOrder> = {}) => makeOrder(repository, given);
  return {
    dispatcher,
    server,
    config,
    repository,
    order,
    put: (order) => send('PUT', `/sessions/${order.sessionId}`, order),
    remove: async (sessionId, attempt) =>
      (await send('DELETE', `/sessions/${sessionId}?attempt=${attempt}`)).status,
    command: async (command) =>
      (await send('POST', `/sessions/${command.sessionId}/commands`, command)).status,
    get: (path) => send('GET', path),
    leftovers: () => leftovers(config, name, server),
  };
}

/** A repository with one commit: a program with a fault in it. */
function makeRepository(folder: string): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'sum.sh'), '#!/bin/bash\necho $(($1 - $2))\n', { mode: 0o755 });
  writeFileSync(join(folder, 'README.md'), '# Sum\r\n\r\nAdds two numbers.\r\n');
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@test.invalid', ...args], {
      cwd: folder,
    });
  git('init', '-q', '-b', 'main');
  git('add', '-A');
  git('commit', '-qm', 'Add numbers');
  return folder;
}

let sessions = 0;

function makeOrder(repository: string, given: Partial<SessionOrder>): SessionOrder {
  sessions += 1;
  return {
    sessionId: `s_${process.pid}_${sessions}`,
    attempt: 1,
    projectId: 'local',
    runtime: 'native',
    model: 'scripted-1',
    surface: 'api',
    interactive: false,
    instruction: 'Mend sum.sh.',
    systemPrompt: 'You mend programs.',
    repository: { kind: 'path', path: repository },
    tools: [...toolNames],
    continueAfterToolRejection: false,
    commandMaxSeconds: 600,
    commandMaxOutputBytes: 10 * 1024 * 1024,
    profile: 'default',
    relayToken: 'relay-token',
    leaseMs: 15_000,
    startWithinMs: 60_000,
    ...given,
  };
}

async function leftovers(config: Config, name: string, server: AgentServer): Promise<string[]> {
  const driver = createBubblewrapDriver({ stateFolder: config.stateFolder, serverId: name });
  const sandboxes = await driver.list();
  const inFolder = (path: string) => {
    try {
      return readdirSync(join(config.stateFolder, path)).map((entry) => `${path}/${entry}`);
    } catch {
      // Never made: nothing is left in it.
      return [];
    }
  };
  const folders = ['journals', 'results', 'unsaved', 'working-copies/sessions'].flatMap(inFolder);
  return [...sandboxes.slice(server.status().warm), ...folders];
}
