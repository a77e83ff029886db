import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApiClient } from '@lemniscate/cli/api-client.ts';
import type { ApiClient } from '@lemniscate/cli/api-client.ts';
import { inspectRepository } from '@lemniscate/cli/repository/inspect.ts';
import { uploadRepository } from '@lemniscate/cli/repository/upload.ts';
import { startFleet } from '@lemniscate/local/fleet.ts';
import type { Fleet } from '@lemniscate/local/fleet.ts';
import { sessionViewSchema } from '@lemniscate/shared/api/session.ts';
import type { CreateSession, SessionView } from '@lemniscate/shared/api/session.ts';
import { z } from 'zod';
import type { BenchIo } from '../benchmark.ts';

/** An idle local fleet with a project of its own and a small repository. */
export interface BenchFleet {
  readonly fleet: Fleet;
  readonly client: ApiClient;
  open(instruction: string, more?: Partial<CreateSession>): Promise<SessionView>;
  session(id: string): Promise<SessionView>;
  /** Waits until something is so. */
  until<Value>(what: string, look: () => Promise<Value | undefined>): Promise<Value>;
  /** Speaks as a service: `agent-server-agent-server-1`, `dispatcher-local`. */
  speakAs(identity: string, url: string): ServiceCaller;
  stop(): Promise<void>;
}

/** One kept connection over mutual TLS. */
export interface ServiceCaller {
  call(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }>;
  close(): void;
}

const policy = `
tools: {read_file: allow, run_command: allow}
freeCommands: [sleep]
budgets: {maxActions: 100000, maxCommands: 100000}
`;

const seenWithinMs = 30_000;

/** Starts the fleet in a folder of its own; `stop` leaves nothing. */
export async function startBenchFleet(io: BenchIo, name: string): Promise<BenchFleet> {
  const folder = mkdtempSync(join(tmpdir(), `lemniscate-bench-${name}-`));
  chmodSync(folder, 0o755);
  const { ANTHROPIC_API_KEY: _key, ...environment } = io.environment;
  const fleet = await startFleet({
    projectRoot: io.projectRoot,
    environment: { ...environment, LEMNISCATE_DATA: join(folder, 'data') },
    say: io.say,
  });
  const stop = async (): Promise<void> => {
    await fleet.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const { token } = JSON.parse(readFileSync(fleet.tokenFile, 'utf8')) as { token: string };
    const client = createApiClient({ url: fleet.apiUrl, token });
    await client.json('/v1/projects', z.unknown(), { method: 'POST', body: { id: 'bench', policy } });
    const { source } = await uploadRepository(
      client,
      await inspectRepository(makeRepository(join(folder, 'repository'))),
      io.signal,
      'bench',
    );
    return {
      fleet,
      client,
      open: (instruction, more = {}) =>
        client.json('/v1/sessions', sessionViewSchema, {
          method: 'POST',
          body: {
            instruction,
            repository: source,
            project: 'bench',
            execution: 'server',
            model: 'scripted-1',
            ...more,
          },
          signal: io.signal,
        }),
      session: (id) => client.json(`/v1/sessions/${id}`, sessionViewSchema, { signal: io.signal }),
      until: async (what, look) => {
        const deadline = performance.now() + seenWithinMs;
        while (performance.now() < deadline) {
          const found = await look();
          if (found !== undefined) return found;
        }
        throw new Error(`not seen within ${seenWithinMs} ms: ${what}`);
      },
      speakAs: (identity, url) => createServiceCaller(fleet.data.folder('certificates'), identity, url),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function makeRepository(folder: string): string {
  mkdirSync(folder);
  writeFileSync(join(folder, 'README.md'), '# A repository to measure with\n');
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=B', '-c', 'user.email=b@example.invalid', ...args], {
      cwd: folder,
    });
  git('init', '-q');
  git('add', '-A');
  git('commit', '-qm', 'first');
  return folder;
}

function createServiceCaller(folder: string, identity: string, url: string): ServiceCaller {
  const agent = new Agent({
    keepAlive: true,
    maxSockets: 1,
    ca: readFileSync(join(folder, 'ca.pem')),
    cert: readFileSync(join(folder, `${identity}.pem`)),
    key: readFileSync(join(folder, `${identity}-key.pem`)),
    // the certificate names 127.0.0.1; there is no name to be checked against it
    servername: '',
  });
  return {
    call: (method, path, body) =>
      new Promise((resolve, reject) => {
        const text = body === undefined ? undefined : JSON.stringify(body);
        const sent = request(new URL(path, url), {
          method,
          agent,
          headers:
            text === undefined
              ? {}
              : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) },
        });
        sent.once('error', reject);
        sent.once('response', (answer) => {
          const chunks: Buffer[] = [];
          answer.on('data', (chunk: Buffer) => chunks.push(chunk));
          answer.once('error', reject);
          answer.once('end', () =>
            resolve({
              status: answer.statusCode ?? 0,
              body: JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown,
            }),
          );
        });
        sent.end(text);
      }),
    close: () => agent.destroy(),
  };
}
