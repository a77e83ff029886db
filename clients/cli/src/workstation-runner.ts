import { spawn } from 'node:child_process';
import { mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findToolchains } from './toolchains.ts';

/** The agent server of a workstation, as a process. */
export interface Runner {
  isOver(): boolean;
  /** What it said last, for a person. */
  lastWords(): Promise<string>;
  /** Ends it and waits until it is gone; its sandboxes go before it does. */
  end(): Promise<void>;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** What the person says of this machine's sandboxes; nothing else of their variables reaches the runner. */
const handedOn = [
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
  'LEMNISCATE_FETCH_CA',
  'LEMNISCATE_FETCH_PRIVATE_HOSTS',
] as const;

const stopTimeoutMs = 15_000;

/** @param folder has `ca.pem`, `certificate.pem` and `key.pem`, and gets everything else of it */
export async function startRunner(folder: string, dispatcherUrl: string, env: Environment): Promise<Runner> {
  await mkdir(join(folder, 'state'));
  const logFile = join(folder, 'agent-server.log');
  const log = await open(logFile, 'w');
  const main = fileURLToPath(new URL('../../../services/agent-server/src/main.ts', import.meta.url));
  const child = spawn(process.execPath, [main], {
    // Its standard input is our life line: when we are gone, it goes.
    stdio: ['pipe', log.fd, log.fd],
    env: runnerEnvironment(folder, dispatcherUrl, { ...env, ...(await ownProfiles(folder, env)) }),
    // Ctrl-C reaches everything in front of the terminal. It is ended by us, when its session is.
    detached: true,
  });
  await log.close();
  let over = false;
  const exited = new Promise<void>((resolve) => {
    const end = (): void => {
      over = true;
      resolve();
    };
    child.once('exit', end);
    child.once('error', end);
  });
  return {
    isOver: () => over,
    lastWords: async () => wordsOf(await readFile(logFile, 'utf8')),
    end: async () => {
      child.kill('SIGTERM');
      const killer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
      await exited;
      clearTimeout(killer);
    },
  };
}

/** Where the person names no profiles, theirs is the default one with the toolchains that their PATH leads to. */
async function ownProfiles(folder: string, env: Environment): Promise<Environment> {
  if (env.LEMNISCATE_SANDBOX_PROFILES !== undefined) return {};
  const toolchains = await findToolchains(env);
  if (toolchains.length === 0) return {};
  const file = join(folder, 'profiles.yaml');
  // JSON is YAML, too
  await writeFile(file, JSON.stringify({ profiles: { default: { toolchains } } }));
  return { LEMNISCATE_SANDBOX_PROFILES: file };
}

function runnerEnvironment(folder: string, dispatcherUrl: string, env: Environment): NodeJS.ProcessEnv {
  const given = handedOn.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]]));
  return {
    ...Object.fromEntries(given),
    LEMNISCATE_DISPATCHER_URL: dispatcherUrl,
    LEMNISCATE_TLS_CA: join(folder, 'ca.pem'),
    LEMNISCATE_TLS_CERT: join(folder, 'certificate.pem'),
    LEMNISCATE_TLS_KEY: join(folder, 'key.pem'),
    LEMNISCATE_STATE_FOLDER: join(folder, 'state'),
    LEMNISCATE_CAPACITY: '1',
    LEMNISCATE_WARM: '1',
    LEMNISCATE_SANDBOX_DRIVER: env.LEMNISCATE_SANDBOX_DRIVER ?? 'auto',
    LEMNISCATE_ALLOW_LOCAL_PATHS: 'true',
    // the person's own machine and account: only root can bound a sandbox made by bubblewrap
    LEMNISCATE_WAIVE_LIMITS:
      env.LEMNISCATE_WAIVE_LIMITS ?? (process.getuid?.() === 0 ? '' : 'memory,processes,cpu,disk'),
    LEMNISCATE_EXIT_WITH_PARENT: 'true',
  };
}

/** Of a log the last thing that went wrong, in its own words; of anything else its end. */
export function wordsOf(log: string): string {
  const lines = log.trim().split('\n');
  const faults = lines.flatMap((line) => {
    const { level, msg } = readLine(line);
    return typeof level === 'number' && level >= errorLevel && typeof msg === 'string' ? [msg] : [];
  });
  const words = faults.at(-1) ?? lines.slice(-5).join('\n');
  return words === '' ? 'it said nothing.' : words;
}

/** The logger's own number for an error. */
const errorLevel = 50;

function readLine(line: string): { readonly level?: unknown; readonly msg?: unknown } {
  try {
    const read: unknown = JSON.parse(line);
    return typeof read === 'object' && read !== null ? read : {};
  } catch {
    // A program that did not even start writes what it likes.
    return {};
  }
}
