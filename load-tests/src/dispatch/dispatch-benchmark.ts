import { Client } from 'pg';
import { distribution, goalAtMost } from '../benchmark.ts';
import type { BenchGoal, BenchIo, BenchResult, Benchmark } from '../benchmark.ts';
import { bareInsertAndPut, bareQueue } from './bare-pipelines.ts';
import { closedLoad, openLoad } from './dispatch-load.ts';
import type { LoadOutcome } from './dispatch-load.ts';
import { openDispatchStage } from './dispatch-stage.ts';
import type { DispatchStage, StageDispatcher } from './dispatch-stage.ts';
import { reservationCosts } from './ledger-cost.ts';

/** `LEMNISCATE_BENCH_SESSIONS` makes a smaller run. */
const usualSessions = 1_000;
const callers = 32;
/**
 * Sessions before anything is measured. Each connection plans a statement five times before it keeps a plan, and a dispatcher has
 * some twenty: behind 300 sessions, more than half of the statements were still planned, and a session took 4.6 ms of processor
 * time where it took 3.3 behind 3,000.
 */
const warmUp = 2_000;
/** To reach. */
const goals = { bareShare: 2, p50Ms: 15, p99Ms: 60, flat: 1.5 } as const;
const backlogs = [100, 100_000] as const;
const serverCounts = [3, 10_000] as const;

/** The whole way of a session to its server, under full and half load, beside the least that could be done. */
export const dispatchBenchmark: Benchmark = {
  name: 'dispatch',
  about: 'sessions/s from POST to accepted order, with 1 and 3 dispatchers, beside bare pipelines',
  async run(io) {
    const parts = new AsyncDisposableStack();
    try {
      return await measure(io, parts);
    } finally {
      await parts.disposeAsync();
    }
  },
};

async function measure(io: BenchIo, parts: AsyncDisposableStack) {
  const sessions = Number(io.environment['LEMNISCATE_BENCH_SESSIONS'] ?? usualSessions);
  const stage = await openDispatchStage(io, parts);
  const results: BenchResult[] = [];
  const one = await stage.startDispatchers(1);
  await warm(stage, one);
  const single = await measureLoads(io, stage, one, '1 dispatcher', sessions, results);

  await stage.isIdle();
  const queueRate = await bareQueue(stage, 5_000, callers);
  stage.holdSessions();
  const bareRate = await bareInsertAndPut(stage, { warmUp, sessions, callers });
  results.push(rate('bare BullMQ add and process', queueRate), rate('bare INSERT and PUT', bareRate));
  io.say(`bare: BullMQ ${Math.round(queueRate)}/s, INSERT and PUT ${Math.round(bareRate)}/s`);

  await stage.isIdle();

  const pace = Math.max(5, single.full.perSecond / 4);
  for (const dispatcher of one) await dispatcher.stop();
  const three = await stage.startDispatchers(3);
  await warm(stage, three);
  const triple = await measureLoads(io, stage, three, '3 dispatchers', sessions, results);
  await stage.isIdle();
  for (const dispatcher of three) await dispatcher.stop();
  // The last one: what waits stays.
  const again = await stage.startDispatchers(1);
  await warm(stage, again);
  const flatness = await backlogFlatness(io, stage, again, pace, results);
  const reservations = await serverFlatness(stage, results);

  const list: BenchGoal[] = [
    goalAtMost(
      'bare INSERT and PUT over the whole way',
      'times',
      goals.bareShare,
      ratio(bareRate, single.way.perSecond),
    ),
    ...startGoals('accepted to started at half load', single.half),
    ...startGoals('accepted to started at half load of 3 dispatchers', triple.half),
    goalAtMost(
      `a session’s way at ${backlogs[1]} waiting over ${backlogs[0]}`,
      'times',
      goals.flat,
      flatness,
    ),
    goalAtMost(
      `a reservation at ${serverCounts[1]} servers over ${serverCounts[0]}`,
      'times',
      goals.flat,
      reservations,
    ),
  ];
  return { results, goals: list };
}

function startGoals(what: string, { starting }: LoadOutcome): BenchGoal[] {
  const { p50, p99 } = distribution('', 'ms', starting);
  return [
    goalAtMost(`${what}, p50`, 'ms', goals.p50Ms, p50),
    goalAtMost(`${what}, p99`, 'ms', goals.p99Ms, p99),
  ];
}

/**
 * Code, connections and plans as they are in a process that has worked before, on both sides of the comparison. The ends of these
 * sessions are awaited: they cost more than their way, and ran beside the way that was measured next.
 */
async function warm(stage: DispatchStage, dispatchers: readonly StageDispatcher[]): Promise<void> {
  await closedLoad(stage, dispatchers, { sessions: warmUp, callers });
  await stage.isIdle();
}

async function measureLoads(
  io: BenchIo,
  stage: DispatchStage,
  dispatchers: readonly StageDispatcher[],
  label: string,
  sessions: number,
  results: BenchResult[],
): Promise<{ way: LoadOutcome; full: LoadOutcome; half: LoadOutcome }> {
  stage.holdSessions();
  const way = await closedLoad(stage, dispatchers, { sessions, callers });
  await stage.isIdle();
  const full = await closedLoad(stage, dispatchers, { sessions, callers });
  await stage.isIdle();
  io.say(`${label}: ${Math.round(way.perSecond)} orders/s, ${Math.round(full.perSecond)} whole sessions/s`);
  const perSecond = full.perSecond / 2;
  const half = await openLoad(stage, dispatchers, { sessions: Math.ceil(perSecond * 8), perSecond });
  results.push(
    rate(`${label}: whole way to the accepted order`, way.perSecond),
    rate(`${label}: whole sessions, with their running and their end`, full.perSecond),
    distribution(`${label}, full load: POST to accepted`, 'ms', full.accepting),
    distribution(`${label}, full load: accepted to started`, 'ms', full.starting),
    distribution(`${label}, half load: POST to accepted`, 'ms', half.accepting),
    distribution(`${label}, half load: accepted to started`, 'ms', half.starting),
    ...(await recordedLegs(stage, label, half.ids)),
  );
  return { way, full, half };
}

/** What the record's own clock says of the legs in between. */
async function recordedLegs(
  stage: DispatchStage,
  label: string,
  ids: readonly string[],
): Promise<BenchResult[]> {
  const rows = await stage.database.query<{ admitted: number; running: number }>(
    `SELECT extract(epoch FROM attempts.created_at - sessions.created_at)::float8 * 1000 AS admitted,
       extract(epoch FROM sessions.running_at - attempts.created_at)::float8 * 1000 AS running
     FROM sessions JOIN attempts ON attempts.session_id = sessions.id AND attempts.attempt = 1
     WHERE sessions.id = ANY($1) AND sessions.running_at IS NOT NULL`,
    [ids],
  );
  return [
    distribution(
      `${label}, half load: in the record to its attempt`,
      'ms',
      rows.map(({ admitted }) => admitted),
    ),
    distribution(
      `${label}, half load: attempt to running`,
      'ms',
      rows.map(({ running }) => running),
    ),
  ];
}

/** The same light load while few and while many wait that may not start yet. @returns the ratio of the medians */
async function backlogFlatness(
  io: BenchIo,
  stage: DispatchStage,
  dispatchers: readonly StageDispatcher[],
  perSecond: number,
  results: BenchResult[],
): Promise<number> {
  const medians: number[] = [];
  let waiting = 0;
  for (const backlog of backlogs) {
    await addWaiting(stage, waiting, backlog);
    waiting = backlog;
    await stage.isIdle();
    await settleIn(stage.stores.databaseUrl);
    const { accepting, starting } = await openLoad(stage, dispatchers, {
      sessions: Math.ceil(perSecond * 6),
      perSecond,
    });
    const way = accepting.map((ms, index) => ms + (starting[index] ?? Number.NaN));
    const seen = distribution(`POST to started with ${backlog} waiting`, 'ms', way);
    results.push(seen);
    medians.push(seen.p50);
    io.say(`${backlog} waiting: POST to started p50 ${seen.p50.toFixed(1)} ms`);
  }
  return ratio(medians[1] ?? Number.NaN, medians[0] ?? Number.NaN);
}

/**
 * What was filled in within seconds takes a fleet minutes, in which Postgres writes it to the disk, counts it and marks it as
 * old. Here all three are done before anything is measured: otherwise a checkpoint of half a gigabyte and a vacuum of all that
 * was filled in run beside, and plans are for tables of before.
 */
async function settleIn(databaseUrl: string): Promise<void> {
  const owner = new Client({ connectionString: databaseUrl, statement_timeout: 60_000 });
  await owner.connect();
  try {
    await owner.query('VACUUM (ANALYZE)');
    await owner.query('CHECKPOINT');
  } finally {
    await owner.end();
  }
}

/** Sessions of ten projects at their cap: they wait, and every admission has to pass over them. */
async function addWaiting(stage: DispatchStage, from: number, to: number): Promise<void> {
  await stage.database.query(
    `INSERT INTO projects (id, policy, policy_digest, max_concurrent)
     SELECT 'crowd-' || n, policy, policy_digest, 0 FROM projects, generate_series(0, 9) AS n WHERE id = 'local'
     ON CONFLICT DO NOTHING`,
  );
  for (let at = from; at < to; at += 10_000)
    await stage.database.query(
      `WITH added AS (
         INSERT INTO sessions (id, project_id, state, phase, instruction, repository, runtime, model, surface, interactive,
           execution, opened_by, policy, policy_digest)
         SELECT 's_waiting' || n, 'crowd-' || n % 10, 'pending', 'queued', instruction, repository, runtime, model, surface,
           interactive, execution, opened_by, policy, policy_digest
         FROM generate_series($1::int, $2::int) AS n, (SELECT * FROM sessions WHERE project_id = 'local' LIMIT 1) template
         RETURNING id
       ) SELECT count(*) FROM added`,
      [at, Math.min(to, at + 10_000) - 1],
    );
  await stage.database.query(
    `INSERT INTO outbox (session_id, generation) SELECT id, 1 FROM sessions
     WHERE id LIKE 's_waiting%' AND NOT EXISTS (SELECT FROM outbox WHERE outbox.session_id = sessions.id)`,
  );
}

async function serverFlatness(stage: DispatchStage, results: BenchResult[]): Promise<number> {
  const medians: number[] = [];
  const costs = await reservationCosts(stage.stores.redisUrl, serverCounts);
  for (const [index, count] of serverCounts.entries()) {
    const seen = distribution(`one reservation at ${count} servers`, 'ms', costs[index] ?? []);
    results.push(seen);
    medians.push(seen.p50);
  }
  return ratio(medians[1] ?? Number.NaN, medians[0] ?? Number.NaN);
}

function ratio(over: number, under: number): number {
  return Math.round((over / under) * 100) / 100;
}

function rate(name: string, perSecond: number): BenchResult {
  return { name, unit: 'sessions/s', value: Math.round(perSecond * 10) / 10 };
}
