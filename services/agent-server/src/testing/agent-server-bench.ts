import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { pino } from 'pino';
import { Agent } from 'undici';
import type { ServerCommand, SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import { toolNames } from '@lemniscate/shared/tools/catalogue.ts';
import type { Outside } from '../adapters/egress/connect-proxy.ts';
import { readProfilesFile } from '../adapters/profiles-file.ts';
import { sandboxDrivers } from '../adapters/sandbox/registry.ts';
import type { Config } from '../config.ts';
import { startAgentServer } from '../start-agent-server.ts';
import type { AgentServer } from '../start-agent-server.ts';
import { createTestAuthority } from './certificates.ts';
import { startScriptedDispatcher } from './scripted-dispatcher.ts';
import type { ScriptedDispatcher } from './scripted-dispatcher.ts';

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** Everything that an agent server needs around it: certificates, a dispatcher by script, a repository. */
export interface Stage {
  readonly dispatcher: ScriptedDispatcher;
  readonly config: Config;
  order(change?: Partial<SessionOrder>): SessionOrder;
  /** Speaks to an agent server with the dispatcher's certificate. */
  send(
    port: number,
    method: 'GET' | 'PUT' | 'POST' | 'DELETE',
    path: string,
    body?: unknown,
  ): Promise<Answer>;
  /** Sandboxes of this server that exist on the machine. */
  sandboxes(): Promise<string[]>;
  /** To be done when the test is over, before what was set up earlier is taken down. */
  atEnd(step: () => unknown): void;
  /** The server is killed in this test, so that it may leave sandboxes behind. */
  mayLeave(): void;
  /** What is left of journals, patches and session folders. */
  files(): string[];
}

/** A stage with an agent server on it that runs in the test's process. */
export interface Bench extends Stage {
  readonly server: AgentServer;
  put(order: SessionOrder): Promise<Answer>;
  remove(sessionId: string, attempt: number): Promise<number>;
  command(command: ServerCommand): Promise<number>;
  /** Everything of sessions that is still there; warm sandboxes are not counted. */
  leftovers(): Promise<string[]>;
}

let stages = 0;

/** Sets a stage and takes it down with the test. */
export async function startStage(t: TestContext, change: Partial<Config> = {}): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-agent-server-'));
  // bwrap is started as another user, which must be able to pass.
  chmodSync(folder, 0o711);
  // node:test runs hooks in their order and stops at one that fails; what was set up last has to go first
  const undo: (() => unknown)[] = [];
  t.after(async () => {
    for (const step of undo.toReversed()) await step();
  });
  undo.push(() => rmSync(folder, { recursive: true, force: true }));
  const authority = await createTestAuthority(folder);
  const ofDispatcher = await authority.issue('dispatcher', 'spiffe://lemniscate/dispatcher/test');
  stages += 1;
  const serverId = `bench-${process.pid}-${stages}`;
  const own = await authority.issue('server', `spiffe://lemniscate/agent-server/${serverId}`);
  const dispatcher = await startScriptedDispatcher(authority.ca, ofDispatcher);
  undo.push(() => dispatcher.close());
  const config: Config = {
    host: '127.0.0.1',
    port: 0,
    dispatcherUrl: dispatcher.url,
    tls: { ca: authority.caFile, cert: own.certFile, key: own.keyFile },
    join: null,
    stateFolder: join(folder, 'state'),
    labels: [],
    capacity: 2,
    warm: 1,
    warmMax: change.warm ?? 1,
    warmMaxAgeMs: 3_600_000,
    programQuietMs: 600_000,
    profilesFile: undefined,
    driver: 'bubblewrap',
    allowLocalPaths: true,
    fetchPrivateHosts: [],
    fetchSsh: {},
    mirrorBytes: 8 * 1024 ** 3,
    waivedLimits: [],
    telemetry: false,
    exitWithParent: false,
    crashPoints: undefined,
    ...change,
  };
  const agent = new Agent({ connect: { ca: authority.ca, cert: ofDispatcher.cert, key: ofDispatcher.key } });
  undo.push(() => agent.destroy());
  const image = (await readProfilesFile(config.profilesFile)).find(({ name }) => name === 'default')?.image;
  /** As after a restart: it knows what the machine shows, and nothing else. */
  const freshDriver = () =>
    sandboxDrivers[config.driver === 'docker' ? 'docker' : 'bubblewrap']({
      stateFolder: config.stateFolder,
      serverId,
      ...(image === undefined ? {} : { image }),
    });
  // a server that was killed leaves its sandboxes' disks mounted
  let killed = false;
  undo.push(async () => {
    const left = await freshDriver().recover();
    if (!killed && left.length > 0) throw new Error(`the server has left ${left.join(', ')}`);
  });
  const repository = makeRepository(join(folder, 'repository'));
  return {
    dispatcher,
    config,
    order: (given = {}) => makeOrder(repository, given),
    send: async (port, method, path, body) => {
      const json = { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
      const origin = `https://127.0.0.1:${port}`;
      const answer = await agent.request({ origin, path, method, ...(body === undefined ? {} : json) });
      const text = await answer.body.text();
      return {
        status: answer.statusCode,
        body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>,
      };
    },
    sandboxes: () => freshDriver().list(),
    files: () => leftFiles(config.stateFolder),
    atEnd: (step) => void undo.push(step),
    mayLeave: () => {
      killed = true;
    },
  };
}

/** Starts an agent server on a stage of its own. */
export async function startBench(
  t: TestContext,
  change: Partial<Config> = {},
  outside?: Outside,
): Promise<Bench> {
  const stage = await startStage(t, change);
  const log = pino({ level: process.env['LEMNISCATE_TEST_LOG'] ?? 'silent' }, pino.destination(2));
  const server = await startAgentServer(stage.config, log, outside);
  stage.atEnd(() => server.stop());
  return {
    ...stage,
    server,
    put: (order) => stage.send(server.port, 'PUT', `/sessions/${order.sessionId}`, order),
    remove: async (sessionId, attempt) =>
      (await stage.send(server.port, 'DELETE', `/sessions/${sessionId}?attempt=${attempt}`)).status,
    command: async (command) =>
      (await stage.send(server.port, 'POST', `/sessions/${command.sessionId}/commands`, command)).status,
    leftovers: async () => [...(await stage.sandboxes()).slice(server.status().warm), ...stage.files()],
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

function leftFiles(stateFolder: string): string[] {
  return ['journals', 'results', 'unsaved', 'snapshots', 'working-copies/sessions'].flatMap((path) => {
    try {
      return readdirSync(join(stateFolder, path)).map((entry) => `${path}/${entry}`);
    } catch {
      // Never made: nothing is left in it.
      return [];
    }
  });
}
