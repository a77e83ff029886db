import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '@lemniscate/local/process/free-port.ts';
import { distribution, goalAtMost } from '../benchmark.ts';
import type { BenchIo, BenchOutcome, Benchmark } from '../benchmark.ts';
import { closedLoad } from '../dispatch/dispatch-load.ts';
import { openDispatchStage } from '../dispatch/dispatch-stage.ts';
import type { DispatchStage } from '../dispatch/dispatch-stage.ts';
import { residentKb } from '../relay/process-use.ts';
import { liveKb } from './live-memory.ts';
import { openReader } from './reader.ts';
import type { Reader } from './reader.ts';

/** `LEMNISCATE_BENCH_SESSIONS` makes a smaller run. */
const usualSessions = 500;
const readersEach = 4;
/** Readers that take nothing, all of a session that says more than any connection holds. */
const stalled = 50;
const talk = { everyMs: 5_000, bytes: 200, loudOneIn: 250, loudEveryMs: 250, loudBytes: 32_000 } as const;
/** How long each state is looked at. */
const lookMs = 20_000;
/** To reach. */
const goals = { p99Ms: 250, kbPerReader: 50 } as const;

/** Readers of live sessions on one dispatcher: delay, memory, what a slow reader does to others, what a resumed one gets. */
export const readersBenchmark: Benchmark = {
  name: 'readers',
  about: `${usualSessions * readersEach} live readers over ${usualSessions} sessions on one dispatcher`,
  async run(io) {
    const parts = new AsyncDisposableStack();
    try {
      return await measure(io, parts);
    } finally {
      await parts.disposeAsync();
    }
  },
};

async function measure(io: BenchIo, parts: AsyncDisposableStack): Promise<BenchOutcome> {
  const sessions = Number(io.environment['LEMNISCATE_BENCH_SESSIONS'] ?? usualSessions);
  const stage = await openDispatchStage(io, parts, { work: { kind: 'fixed', ms: 3_600_000 }, talk });
  const inspector = await freePort();
  parts.defer(inspector.release);
  const inspected = { NODE_OPTIONS: `--inspect=127.0.0.1:${inspector.port}` };
  const [dispatcher] = await stage.startDispatchers(1, inspected);
  if (dispatcher === undefined) throw new Error('no dispatcher');
  const { ids } = await closedLoad(stage, [dispatcher], { sessions, callers: 16 });
  await allRun(stage, sessions);
  io.say(`${sessions} sessions run`);
  // What a dispatcher under this load weighs without readers; its heap has grown to what ingestion needs.
  await delay(lookMs);
  const before = await leastLive(inspector.port);
  const resident = residentKb(dispatcher.pid);

  const readers: Reader[] = [];
  parts.defer(() => {
    for (const reader of readers) reader.close();
  });
  const open = (id: string): Promise<Reader> =>
    openReader(`${dispatcher.publicUrl}/v1/sessions/${id}/events`, stage.token);
  const together = Math.min(50, sessions);
  for (let at = 0; at < sessions * readersEach; at += together)
    readers.push(
      ...(await Promise.all(
        Array.from({ length: together }, (_, index) => open(ids[(at + index) % ids.length] ?? '')),
      )),
    );
  io.say(`${readers.length} readers are there`);
  await delay(5_000);
  const quiet = await look(readers);
  const after = await leastLive(inspector.port);
  const residentAfter = residentKb(dispatcher.pid);

  const loud = readers.toSorted((left, right) => right.last() - left.last())[0];
  const loudId = ids[readers.indexOf(loud as Reader) % ids.length] ?? '';
  const slow = await Promise.all(Array.from({ length: stalled }, () => open(loudId)));
  parts.defer(() => {
    for (const reader of slow) reader.close();
  });
  for (const reader of slow) reader.stall();
  const beside = await look(readers);
  const besideSlow = await leastLive(inspector.port);

  const resumed = readers.filter((_, at) => at % 10 === 0);
  for (const reader of resumed) await reader.resume();
  await delay(2 * talk.everyMs);
  const heard = Math.min(...readers.map((reader) => reader.last()));
  const missed = readers.reduce((sum, reader) => sum + reader.missing(), 0);
  const repeated = readers.reduce((sum, reader) => sum + reader.repeated(), 0);

  const delays = distribution(`delivery to ${readers.length} readers`, 'ms', quiet);
  const withSlow = distribution(`the same beside ${stalled} readers that take nothing`, 'ms', beside);
  const kbPerReader = Math.max(0, after - before) / readers.length;
  return {
    results: [
      delays,
      withSlow,
      {
        name: 'live memory of the dispatcher without readers',
        unit: 'MB',
        value: Math.round(before / 1_024),
      },
      { name: 'its resident memory without readers', unit: 'MB', value: Math.round(resident / 1_024) },
      { name: 'its resident memory with readers', unit: 'MB', value: Math.round(residentAfter / 1_024) },
      { name: 'memory for a reader', unit: 'KB', value: Math.round(kbPerReader * 10) / 10 },
      {
        name: 'memory for a reader that takes nothing',
        unit: 'KB',
        value: Math.round((Math.max(0, besideSlow - after) / stalled) * 10) / 10,
      },
      { name: 'events that the reader with fewest has got', unit: 'events', value: heard },
    ],
    goals: [
      goalAtMost('delivery, p99', 'ms', goals.p99Ms, delays.p99),
      goalAtMost('memory for a reader', 'KB', goals.kbPerReader, kbPerReader),
      goalAtMost('delivery beside readers that take nothing, p99', 'ms', goals.p99Ms, withSlow.p99),
      goalAtMost(
        `events that ${readers.length} readers missed, ${resumed.length} of them resumed`,
        'events',
        0,
        missed,
      ),
      goalAtMost('events that came twice', 'events', 0, repeated),
    ],
  };
}

async function allRun(stage: DispatchStage, sessions: number): Promise<void> {
  for (const until = performance.now() + 120_000; performance.now() < until; await delay(200)) {
    const [row] = await stage.database.query<{ running: number }>(
      `SELECT count(*)::int AS running FROM sessions WHERE state = 'running'`,
    );
    if (row?.running === sessions) return;
  }
  throw new Error('not every session came to run');
}

/** Everything that is delivered from now on. */
async function look(readers: readonly Reader[]): Promise<number[]> {
  for (const reader of readers) reader.restart();
  await delay(lookMs);
  return readers.flatMap((reader) => reader.delays);
}

/** The least of a few looks: what is under way at the moment is no reader's memory. */
async function leastLive(inspectorPort: number): Promise<number> {
  let least = Infinity;
  for (let looks = 0; looks < 5; looks += 1) {
    least = Math.min(least, await liveKb(inspectorPort));
    await delay(300);
  }
  return least;
}
