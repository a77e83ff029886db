import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createApiClient } from '@lemniscate/cli/api-client.ts';
import type { ApiClient } from '@lemniscate/cli/api-client.ts';
import { followSession } from '@lemniscate/cli/follow/event-stream.ts';
import { openSession } from '@lemniscate/cli/open-session.ts';
import { sessionViewSchema } from '@lemniscate/shared/api/session.ts';
import { startFleet } from '@lemniscate/local/fleet.ts';
import type { Fleet } from '@lemniscate/local/fleet.ts';
import { openSampleRepository } from '@lemniscate/local/sample-repository.ts';
import { findGrowth, heldOverTime } from './flat.ts';
import type { Holding } from './flat.ts';

// `npm run soak [-- --minutes 60 --sessions 3]`: so many sessions at once, one after the other, on a fleet of its own; ends
// with 1 when the memory or the open files of a service grow, a service had to be started again, or a session failed.

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    sessions: { type: 'string', default: '3' },
  },
});
const soakMs = Number(values.minutes) * 60_000;
const atOnce = Number(values.sessions);
if (!(soakMs > 0) || !(atOnce >= 1))
  throw new Error('usage: soak [--minutes N] [--sessions N], both above 0');

// looks and sessions end, and the fleet is stopped in order
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());
const scratch = mkdtempSync(join(tmpdir(), 'lemniscate-soak-'));
chmodSync(scratch, 0o755);
const environment = { ...process.env, LEMNISCATE_DATA: join(scratch, 'data') };
const projectRoot = join(import.meta.dirname, '../../..');
const fleet = await startFleet({ projectRoot, environment, say: (line) => console.error(line) });
try {
  process.exitCode = (await soak(fleet)) ? 0 : 1;
} finally {
  await fleet.stop();
  rmSync(scratch, { recursive: true, force: true });
}

async function soak(site: Fleet): Promise<boolean> {
  const { token } = JSON.parse(readFileSync(site.tokenFile, 'utf8')) as { token: string };
  const client = createApiClient({ url: site.apiUrl, token });
  const repositoryFolder = openSampleRepository(site.data);
  const began = performance.now();
  const goesOn = (): boolean => !stopping.signal.aborted && performance.now() - began < soakMs;
  const ends: string[] = [];
  const seen = new Map<string, Holding[]>(site.services.map(({ name }) => [name, []]));
  const watch = async (): Promise<void> => {
    // A hundred looks at least, and one a minute at most.
    for (const every = Math.min(60_000, soakMs / 100); goesOn(); await pause(every))
      for (const service of site.services) {
        const holding = holdingOf(service.pid(), performance.now() - began);
        if (holding !== null) seen.get(service.name)?.push(holding);
      }
  };
  const work = async (): Promise<void> => {
    while (goesOn())
      try {
        ends.push(await runOne(client, repositoryFolder));
      } catch (error) {
        if (!stopping.signal.aborted) throw error;
      }
  };
  await Promise.all([watch(), ...Array.from({ length: atOnce }, work)]);

  const held = [...seen].map(([name, holdings]) => ({ name, ...heldOverTime(holdings) }));
  for (const { name, looks, memoryBytes, handles } of held)
    console.log(
      `${name}: ${mebibytes(memoryBytes.from)} to ${mebibytes(memoryBytes.to)} MiB, ` +
        `${handles.from} to ${handles.to} open files (${looks} looks)`,
    );
  const faults = [
    ...held.flatMap(({ name, ...over }) => findGrowth(name, over)),
    ...site.services.flatMap(({ name, restarts }) =>
      restarts() === 0 ? [] : [`${name}: was started again ${restarts()} times`],
    ),
    ...(stopping.signal.aborted ? ['it was stopped before its time'] : []),
    ...ends.filter((state) => state !== 'completed').map((state) => `a session ended as ${state}`),
  ];
  for (const fault of faults) console.error(`  ${fault}`);
  const minutes = Math.round((performance.now() - began) / 6_000) / 10;
  console.log(`${ends.length} sessions in ${minutes} minutes: ${faults.length === 0 ? 'flat' : 'NOT FLAT'}`);
  return faults.length === 0;
}

/** Sleeps, or until we are to stop. */
async function pause(ms: number): Promise<void> {
  await sleep(ms, undefined, { signal: stopping.signal }).catch((error: unknown) => {
    if (!stopping.signal.aborted) throw error;
  });
}

function mebibytes(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(1);
}

/** Runs one session to its end. @returns the state in which it ended */
async function runOne(client: ApiClient, repositoryFolder: string): Promise<string> {
  const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(10 * 60_000)]);
  const request = { instruction: 'Fix the failing test.', execution: 'server', repositoryFolder } as const;
  const { session } = await openSession(client, request, signal);
  const following = followSession(client, { sessionId: session.id, after: 0, signal, patienceMs: 60_000 });
  for await (const _event of following);
  return (await client.json(`/v1/sessions/${session.id}`, sessionViewSchema)).state;
}

function holdingOf(pid: number | undefined, atMs: number): Holding | null {
  if (pid === undefined) return null;
  try {
    const resident = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    const handles = readdirSync(`/proc/${pid}/fd`).length;
    return { atMs, memoryBytes: Number(resident ?? 0) * 1024, handles };
  } catch (error) {
    // It ended while we looked; that it was started again is counted.
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}
