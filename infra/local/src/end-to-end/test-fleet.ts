import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApiClient } from '@lemniscate/cli/api-client.ts';
import type { ApiClient } from '@lemniscate/cli/api-client.ts';
import { verifySessionChain } from '@lemniscate/cli/audit-check.ts';
import { readPatch } from '@lemniscate/cli/commands/diff-decision.ts';
import { followSession } from '@lemniscate/cli/follow/event-stream.ts';
import { openSession } from '@lemniscate/cli/open-session.ts';
import type { OpenRequest } from '@lemniscate/cli/open-session.ts';
import { sessionViewSchema } from '@lemniscate/shared/api/session.ts';
import type { SessionView } from '@lemniscate/shared/api/session.ts';
import type { PositionedEvent } from '@lemniscate/shared/protocol/session-event.ts';
import { startFleet } from '../fleet.ts';
import type { Fleet } from '../fleet.ts';
import { projectRoot } from '../project-root.ts';
import { until } from '../testing/until.ts';

/** A whole fleet of a test's own. */
export interface TestFleet {
  readonly fleet: Fleet;
  readonly client: ApiClient;
  /** Folder for repositories and other things of the test. */
  readonly scratch: string;
  /** Variables with which a child process finds this fleet. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  stop(): Promise<void>;
}

/**
 * So short that a lost server is noticed within seconds, for tests that lose one and nothing else: a server that hears
 * nothing for a lease destroys what it runs, and a machine that stands still for a moment would do the same to it.
 */
export const shortLeases = { LEMNISCATE_LEASE_MS: '3000', LEMNISCATE_GRACE_MS: '1000' } as const;

/** Ports of the test's own, so that a fleet that somebody runs on this machine is left alone. */
export async function startTestFleet(extra: Readonly<Record<string, string>> = {}): Promise<TestFleet> {
  const scratch = mkdtempSync(join(tmpdir(), 'lemniscate-e2e-'));
  chmodSync(scratch, 0o755);
  const { ANTHROPIC_API_KEY: _key, NODE_TEST_CONTEXT: _context, ...inherited } = process.env;
  const environment = {
    ...inherited,
    LEMNISCATE_DATA: join(scratch, 'data'),
    ...extra,
  };
  const lines: string[] = [];
  const fleet = await startFleet({ projectRoot, environment, say: (line) => lines.push(line) }).catch(
    (error: unknown) => {
      console.error(lines.join('\n'));
      throw error;
    },
  );
  const { token } = JSON.parse(readFileSync(fleet.tokenFile, 'utf8')) as { token: string };
  return {
    fleet,
    client: createApiClient({ url: fleet.apiUrl, token }),
    scratch,
    environment,
    async stop() {
      await fleet.stop();
      // A workstation's server takes its sandboxes down behind the program that started it; a disk that is mounted still cannot
      // be removed.
      await until('no disk of the fleet is mounted', () => mountsOf(scratch).length === 0);
      // what the kernel is still taking down may write a last file while its folder is emptied
      rmSync(scratch, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
}

/** Makes a git repository with the files, committed. */
export function makeRepository(
  scratch: string,
  name: string,
  files: Readonly<Record<string, string>>,
): string {
  const folder = join(scratch, name);
  mkdirSync(folder, { recursive: true });
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  commitAll(folder);
  return folder;
}

/** The sample repository of `npm start`, with another fault planted when `plant` changes a file. */
export function sampleRepository(
  scratch: string,
  name: string,
  plant?: { readonly file: string; readonly from: string; readonly to: string },
): string {
  const folder = join(scratch, name);
  cpSync(join(projectRoot, 'infra/local/sample'), folder, { recursive: true });
  if (plant !== undefined) {
    const file = join(folder, plant.file);
    const text = readFileSync(file, 'utf8');
    if (!text.includes(plant.from)) throw new Error(`${plant.file} has no ${plant.from}`);
    writeFileSync(file, text.replace(plant.from, plant.to));
  }
  commitAll(folder);
  return folder;
}

function commitAll(folder: string): void {
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.invalid', ...args], {
      cwd: folder,
    });
  git('init', '-q', '-b', 'main');
  git('add', '-A');
  git('commit', '-qm', 'first');
}

/** Runs a repository's own tests on the host; only for repositories whose files the test itself wrote. */
export function testsPass(folder: string): boolean {
  try {
    // Node's test runner does nothing when it believes that another one started it.
    const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
    execFileSync('npm', ['test'], { cwd: folder, stdio: 'pipe', env });
    return true;
  } catch (error) {
    if ((error as { status?: number }).status === undefined) throw error;
    return false;
  }
}

/** A session that has ended, with all that was seen of it. */
export interface FollowedSession {
  readonly session: SessionView;
  readonly events: readonly PositionedEvent[];
  readonly patch: string;
  readonly audit: Awaited<ReturnType<typeof verifySessionChain>>;
}

const sessionPatienceMs = 3 * 60_000;

/** Opens a session and follows it to its end; `onEvent` sees each event once, and is awaited. */
export async function runSession(
  site: TestFleet,
  request: Partial<OpenRequest> & { readonly repositoryFolder: string },
  onEvent: (event: PositionedEvent) => Promise<void> | void = () => undefined,
): Promise<FollowedSession> {
  const { session } = await openSession(
    site.client,
    { instruction: 'Fix the failing test.', execution: 'server', ...request },
    AbortSignal.timeout(sessionPatienceMs),
  );
  return followToEnd(site, session.id, onEvent);
}

/** Follows a session that is open, however it was opened. */
export async function followToEnd(
  { client }: TestFleet,
  sessionId: string,
  onEvent: (event: PositionedEvent) => Promise<void> | void = () => undefined,
): Promise<FollowedSession> {
  const signal = AbortSignal.timeout(sessionPatienceMs);
  const events: PositionedEvent[] = [];
  for await (const event of followSession(client, {
    sessionId,
    after: 0,
    signal,
    patienceMs: 60_000,
  })) {
    events.push(event);
    await onEvent(event);
  }
  const session = await client.json(`/v1/sessions/${sessionId}`, sessionViewSchema);
  const patch = session.diff === null ? '' : Buffer.from(await readPatch(client, sessionId)).toString('utf8');
  return { session, events, patch, audit: await verifySessionChain(client, sessionId) };
}

/** Positions count from 1 without a hole and nothing comes twice. */
export function positionsAreDense(events: readonly PositionedEvent[]): boolean {
  return events.every(({ position }, index) => position === index + 1);
}

/**
 * Fails when a process of a stopped fleet goes on. One whose parent was killed is still to be seen until the kernel has
 * taken it down, which takes its moment on a busy machine.
 */
export async function assertNothingRuns(scratch: string): Promise<void> {
  const left = () => [...processesOf(scratch), ...mountsOf(scratch)];
  await until('nothing of the fleet is left', () => left().length === 0).catch(() => undefined);
  assert.deepEqual(left(), [], 'no process, no sandbox and no disk is left');
}

function mountsOf(scratch: string): string[] {
  return readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .filter((line) => line.includes(scratch));
}

/** Stops a fleet, and asserts that nothing of it runs any more. */
export async function endFleet(site: TestFleet): Promise<void> {
  await site.stop();
  await assertNothingRuns(site.scratch);
}

/** Processes on this machine that name the folder of a fleet. */
function processesOf(scratch: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        return command.includes(scratch) ? [`${pid} ${command}`] : [];
      } catch (error) {
        // It ended while we looked.
        if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return [];
        throw error;
      }
    });
}
