import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { distribution, goalAtMost } from '../benchmark.ts';
import type { BenchIo, Benchmark } from '../benchmark.ts';

const rounds = 10;
/** To reach: a start with everything in place has its first session running within 5 s. */
const runningWithinMs = 5_000;

/** How long a start takes when everything is in place: the launcher as `npm start` calls it, to the fleet's answer. */
export const startBenchmark: Benchmark = {
  name: 'start',
  about: 'second npm start: to serving, and to its first running session',
  async run(io) {
    const folder = mkdtempSync(join(tmpdir(), 'lemniscate-bench-start-'));
    try {
      io.say('first start, which makes everything');
      await startOnce(io, folder);
      const serving: number[] = [];
      const running: number[] = [];
      for (let round = 1; round <= rounds; round += 1) {
        const timings = await startOnce(io, folder);
        serving.push(timings.setup);
        running.push(timings.setup + timings.queued + timings.starting);
        io.say(`round ${round}: serving after ${serving.at(-1)} ms, running after ${running.at(-1)} ms`);
      }
      const toRunning = distribution('start to first running session', 'ms', running);
      return {
        results: [distribution('start to serving', 'ms', serving), toRunning],
        goals: [goalAtMost('start to first running session, p50', 'ms', runningWithinMs, toRunning.p50)],
      };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

interface StartTimings {
  readonly setup: number;
  readonly queued: number;
  readonly starting: number;
}

/** Runs `npm start -- --once --json` on a data folder of its own; without a provider's key, so that nothing is paid. */
async function startOnce(io: BenchIo, folder: string): Promise<StartTimings> {
  const { ANTHROPIC_API_KEY: _key, ...environment } = io.environment;
  const child = spawn(
    process.execPath,
    [join(io.projectRoot, 'infra/local/bin/start.mjs'), '--once', '--json'],
    {
      cwd: io.projectRoot,
      env: { ...environment, LEMNISCATE_DATA: folder },
      stdio: ['ignore', 'pipe', 'pipe'],
      signal: AbortSignal.any([io.signal, AbortSignal.timeout(180_000)]),
      killSignal: 'SIGTERM',
    },
  );
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr = (stderr + chunk).slice(-4_000)));
  const exitCode = await new Promise<number | null>((settle, fail) => {
    child.once('error', fail);
    child.once('close', settle);
  });
  if (exitCode !== 0) throw new Error(`npm start ended with ${exitCode}:\n${stderr}`);
  return (JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as { timingsMs: StartTimings }).timingsMs;
}
