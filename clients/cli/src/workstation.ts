import { ask } from '@lemniscate/api/client.ts';
import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { ApiClient } from './api-client.ts';

/** An agent server of one's own on this machine, for sessions pinned to it. */
export interface Workstation {
  readonly serverId: string;
  /** Ends the server, sees its sandboxes gone and takes it off the fleet's list; idempotent. */
  stop(): Promise<void>;
}

/** What the person says of this machine's sandboxes; nothing else of their variables reaches the runner. */
const handedOnNames = [
  'PATH',
  'HOME',
  'TMPDIR',
  'DOCKER_HOST',
  'DOCKER_TLS_VERIFY',
  'DOCKER_CERT_PATH',
  'LEMNISCATE_SANDBOX_PROFILES',
  'LEMNISCATE_PROGRAM_QUIET_SECONDS',
  'LEMNISCATE_FETCH_SSH_KEY',
  'LEMNISCATE_FETCH_SSH_KNOWN_HOSTS',
  'LEMNISCATE_FETCH_PRIVATE_HOSTS',
] as const;

function handedOn(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    handedOnNames.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])),
  );
}

const startTimeoutMs = 20_000;
const stopTimeoutMs = 15_000;

/**
 * Starts an agent server here and joins it to the fleet under the person's login. The private key never leaves the
 * machine; the fleet signs a short-lived certificate for the public one. It listens nowhere and speaks outwards only.
 * @throws CodedError `sandbox_driver_missing` and others with the server's own last words
 */
export async function startWorkstation(
  client: ApiClient,
  env: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Promise<Workstation> {
  const folder = await mkdtemp(join(tmpdir(), 'lemniscate-workstation-'));
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  let serverId: string | null = null;
  const leave = async (): Promise<void> => {
    if (serverId !== null)
      await ask(client.api.DELETE('/v1/servers/{id}', { params: { path: { id: serverId } } }));
  };
  try {
    const joined = await ask(
      client.api.POST('/v1/servers', {
        body: {
          publicKeyPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
          capacity: 1,
        },
        signal,
      }),
    );
    serverId = joined.serverId;
    const file = (name: string) => join(folder, name);
    await writeFile(file('ca.pem'), joined.caPem);
    await writeFile(file('certificate.pem'), joined.certificatePem);
    await writeFile(file('key.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    await mkdir(file('state'));
    const log = await open(file('agent-server.log'), 'w');
    const main = fileURLToPath(new URL('../../../services/agent-server/src/main.ts', import.meta.url));
    const child = spawn(process.execPath, [main], {
      // Its standard input is our life line: when we are gone, it goes.
      stdio: ['pipe', log.fd, log.fd],
      env: {
        ...handedOn(env),
        LEMNISCATE_DISPATCHER_URL: joined.internalUrl,
        LEMNISCATE_TLS_CA: file('ca.pem'),
        LEMNISCATE_TLS_CERT: file('certificate.pem'),
        LEMNISCATE_TLS_KEY: file('key.pem'),
        LEMNISCATE_STATE_FOLDER: file('state'),
        LEMNISCATE_CAPACITY: '1',
        LEMNISCATE_WARM: '1',
        LEMNISCATE_SANDBOX_DRIVER: env.LEMNISCATE_SANDBOX_DRIVER ?? 'auto',
        LEMNISCATE_ALLOW_LOCAL_PATHS: 'true',
        // the person's own machine and account: only root can bound a sandbox made by bubblewrap
        LEMNISCATE_WAIVE_LIMITS:
          env.LEMNISCATE_WAIVE_LIMITS ?? (process.getuid?.() === 0 ? '' : 'memory,processes,cpu,disk'),
        LEMNISCATE_EXIT_WITH_PARENT: 'true',
      },
    });
    const exited = new Promise<void>((resolve) => {
      child.once('exit', () => resolve());
      child.once('error', () => resolve());
    });
    await log.close();
    let over = false;
    void exited.then(() => {
      over = true;
    });
    const deadline = performance.now() + startTimeoutMs;
    for (;;) {
      signal.throwIfAborted();
      if (over || performance.now() > deadline) {
        child.kill('SIGKILL');
        const words = (await readFile(file('agent-server.log'), 'utf8'))
          .trim()
          .split('\n')
          .slice(-5)
          .join('\n');
        throw new CodedError(
          'sandbox_driver_missing',
          `The agent server of this workstation did not start:\n${words}`,
        );
      }
      const { servers } = await ask(client.api.GET('/v1/servers', { signal }));
      if (servers.some((server) => server.id === serverId && server.usable > 0)) break;
      await delay(50, undefined, { signal });
    }
    let stopping: Promise<void> | null = null;
    const stop = async (): Promise<void> => {
      child.kill('SIGTERM');
      const killer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
      await exited;
      clearTimeout(killer);
      await leave();
      await rm(folder, { recursive: true, force: true });
    };
    return { serverId: joined.serverId, stop: () => (stopping ??= stop()) };
  } catch (error) {
    await leave().catch((failure: unknown) => {
      throw new AggregateError(
        [error, failure],
        'The workstation could not join, and its entry could not be removed.',
        { cause: error },
      );
    });
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}
