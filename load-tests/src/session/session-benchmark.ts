import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApiClient } from '@lemniscate/cli/api-client.ts';
import type { ApiClient } from '@lemniscate/cli/api-client.ts';
import { followSession } from '@lemniscate/cli/follow/event-stream.ts';
import { inspectRepository } from '@lemniscate/cli/repository/inspect.ts';
import { uploadRepository } from '@lemniscate/cli/repository/upload.ts';
import { startFleet } from '@lemniscate/local/fleet.ts';
import { sessionViewSchema } from '@lemniscate/shared/api/session.ts';
import type { CreateSession } from '@lemniscate/shared/api/session.ts';
import { z } from 'zod';
import { distribution, goalAtMost } from '../benchmark.ts';
import type { BenchIo, Benchmark } from '../benchmark.ts';

/** Until the services' code has been compiled for speed: a fleet that serves has long been there. */
const warmUpRounds = 20;
const rounds = 60;
/** To reach: from the request to the first byte that the session's first command prints. */
const firstOutputWithinMs = 60;
/** The local policy lets it run unasked; its output does not depend on anything. */
const instruction = 'Run `pwd`.';

/** One session after the other on an idle local fleet: how long until its first command speaks, and until it is over. */
export const sessionBenchmark: Benchmark = {
  name: 'session',
  about: 'POST to the first command’s output, and to the end, on an idle local fleet',
  async run(io) {
    const folder = mkdtempSync(join(tmpdir(), 'lemniscate-bench-session-'));
    chmodSync(folder, 0o755);
    const { ANTHROPIC_API_KEY: _key, ...environment } = io.environment;
    const fleet = await startFleet({
      projectRoot: io.projectRoot,
      environment: { ...environment, LEMNISCATE_DATA: join(folder, 'data') },
      say: io.say,
    });
    try {
      const { token } = JSON.parse(readFileSync(fleet.tokenFile, 'utf8')) as { token: string };
      const client = createApiClient({ url: fleet.apiUrl, token });
      const request = await prepare(client, join(folder, 'repository'), io.signal);
      const toOutput: number[] = [];
      const toEnd: number[] = [];
      for (let round = 1 - warmUpRounds; round <= rounds; round += 1) {
        const seen = await measure(client, request, io);
        await warmAgain(client, io.signal);
        if (round < 1) continue;
        toOutput.push(seen.outputMs);
        toEnd.push(seen.endMs);
      }
      const output = distribution('POST to first command’s output', 'ms', toOutput);
      return {
        results: [output, distribution('POST to end', 'ms', toEnd)],
        goals: [goalAtMost('POST to first command’s output, p50', 'ms', firstOutputWithinMs, output.p50)],
      };
    } finally {
      await fleet.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/** A small repository in the fleet's store; every round works on a copy of its own. */
async function prepare(client: ApiClient, folder: string, signal: AbortSignal): Promise<CreateSession> {
  mkdirSync(folder);
  writeFileSync(join(folder, 'README.md'), '# A repository to measure with\n');
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=B', '-c', 'user.email=b@example.invalid', ...args], {
      cwd: folder,
    });
  git('init', '-q');
  git('add', '-A');
  git('commit', '-qm', 'first');
  const { source } = await uploadRepository(client, await inspectRepository(folder), signal);
  return { instruction, repository: source, execution: 'server', model: 'scripted-1' };
}

async function measure(
  client: ApiClient,
  request: CreateSession,
  io: BenchIo,
): Promise<{ readonly outputMs: number; readonly endMs: number }> {
  const from = performance.now();
  const { id } = await client.json('/v1/sessions', sessionViewSchema, {
    method: 'POST',
    body: request,
    signal: io.signal,
  });
  let outputMs = Number.NaN;
  const events = followSession(client, { sessionId: id, after: 0, signal: io.signal, patienceMs: 10_000 });
  for await (const { event } of events) {
    if (event.type === 'output' && Number.isNaN(outputMs)) outputMs = performance.now() - from;
  }
  const endMs = performance.now() - from;
  const { state, message } = await client.json(`/v1/sessions/${id}`, sessionViewSchema);
  if (state !== 'completed' || Number.isNaN(outputMs))
    throw new Error(
      `session ${id} ended ${state} (${message ?? ''}) with ${outputMs} ms to its first output`,
    );
  return { outputMs, endMs };
}

const serversSchema = z.object({ servers: z.array(z.object({ warm: z.int(), usable: z.int() })) });
const warmWithinMs = 30_000;

/** An idle fleet has warm sandboxes: a round begins when the one before it has been replaced. */
async function warmAgain(client: ApiClient, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + warmWithinMs;
  while (performance.now() < deadline) {
    const { servers } = await client.json('/v1/servers', serversSchema, { signal });
    if (servers.every(({ warm, usable }) => warm > 0 && usable > 0)) return;
  }
  throw new Error(`the fleet had no warm sandboxes again within ${warmWithinMs} ms`);
}
