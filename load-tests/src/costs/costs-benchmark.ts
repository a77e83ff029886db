import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase } from '@lemniscate/dispatcher/adapters/postgres/database.ts';
import type { PostgresDatabase } from '@lemniscate/dispatcher/adapters/postgres/database.ts';
import { migrate } from '@lemniscate/dispatcher/adapters/postgres/migrations.ts';
import { foldCosts, rebuildCosts } from '@lemniscate/dispatcher/application/costs/fold-costs.ts';
import { costSeries } from '@lemniscate/dispatcher/application/costs/cost-series.ts';
import { costsByDay, reportCosts, unitCosts } from '@lemniscate/dispatcher/application/costs/report-costs.ts';
import { readLocalConfig } from '@lemniscate/local/config.ts';
import { openDataFolder } from '@lemniscate/local/data-folder.ts';
import { openPortBook } from '@lemniscate/local/port-book.ts';
import { startStores } from '@lemniscate/local/stores.ts';
import { costGroups } from '@lemniscate/shared/costs/cost-report.ts';
import { seriesGroups } from '@lemniscate/shared/costs/cost-series.ts';
import { distribution, goalAtMost } from '../benchmark.ts';
import type { BenchGoal, BenchIo, BenchResult, Benchmark } from '../benchmark.ts';

/** Rows that the reports are asked over; `LEMNISCATE_BENCH_ROWS` makes a smaller run. */
const usualRows = 5_000_000;
const rowsAtOnce = 250_000;
const writers = 200;
/** Both kinds of inserts take turns, so that what else the machine does meets both. */
const writingRounds = 3;
const writingMs = 7_000;
/** How often the dispatcher folds. */
const foldEveryMs = 3_000;
const span = { from: '2000-01-01', to: '2100-01-01' };

/** Reports over millions of usage rows, and appending with the fold running against plain inserts. */
export const costsBenchmark: Benchmark = {
  name: 'costs',
  about: 'reports over five million usage rows, and appends of 200 writers while rollups are folded',
  async run(io) {
    const folder = mkdtempSync(join(tmpdir(), 'lemniscate-bench-costs-'));
    chmodSync(folder, 0o755);
    const parts = new AsyncDisposableStack();
    parts.defer(() => rmSync(folder, { recursive: true, force: true }));
    try {
      return await measure(io, await openDatabase(io, folder, parts));
    } finally {
      await parts.disposeAsync();
    }
  },
};

async function openDatabase(
  io: BenchIo,
  folder: string,
  parts: AsyncDisposableStack,
): Promise<PostgresDatabase> {
  const data = openDataFolder({ LEMNISCATE_DATA: join(folder, 'data') }, io.projectRoot);
  const ports = openPortBook(data);
  parts.defer(ports.close);
  const stores = await startStores(data, ports, readLocalConfig({}), { durable: true, say: io.say });
  parts.defer(() => stores.stop());
  const url = new URL(stores.databaseUrl);
  await migrate(url, io.say);
  const database = createDatabase({
    url,
    connections: 50,
    statementTimeoutMs: 300_000,
    onConnectionError: () => undefined,
  });
  parts.defer(() => database.close());
  return database;
}

async function measure(io: BenchIo, database: PostgresDatabase) {
  const rows = Number(io.environment['LEMNISCATE_BENCH_ROWS'] ?? usualRows);
  const filled = await timed(() => fill(database, rows, io));
  const folded = await timed(() => foldCosts(database));
  io.say(`${rows} rows in ${seconds(filled)} s, folded in ${seconds(folded)} s`);
  const results: BenchResult[] = [
    { name: 'rows', unit: '', value: rows },
    { name: 'folding all of them', unit: 's', value: seconds(folded) },
  ];
  const goals: BenchGoal[] = [];
  const ask = async (name: string, question: () => Promise<unknown>): Promise<void> => {
    const times: number[] = [];
    for (let round = 0; round < 3; round += 1) times.push(await timed(question));
    const measured = distribution(`report ${name}`, 'ms', times.map(Math.round));
    results.push(measured);
    goals.push(goalAtMost(`report ${name}`, 'ms', 1_000, measured.max));
  };
  for (const group of costGroups) await ask(`by ${group}`, () => reportCosts(database, group, span, 100));
  for (const group of seriesGroups) await ask(`of days by ${group}`, () => costSeries(database, group, span));
  await ask('of days, for forecast and anomalies', () => costsByDay(database, span));
  await ask('of accepted diffs', () => unitCosts(database, span));

  const before = await digits(database);
  const rebuilt = await timed(() => rebuildCosts(database));
  results.push({ name: 'rebuilding the rollups', unit: 's', value: seconds(rebuilt) });
  goals.push(goalAtMost('digits that a rebuild changes', '', 0, (await digits(database)) === before ? 0 : 1));

  await makePlainTable(database);
  let [plain, appended, oldestMs] = [0, 0, 0];
  for (let round = 0; round < writingRounds; round += 1) {
    const plainly = await appends(database, 'bench_plain', io);
    const folding = foldMeanwhile(database, io);
    const entries = await appends(database, 'cost_entries', io);
    await folding.stop();
    plain += plainly;
    appended += entries;
    oldestMs = Math.max(oldestMs, folding.oldestMs());
  }
  const aSecond = (count: number): number => Math.round(count / ((writingRounds * writingMs) / 1_000));
  results.push(
    { name: `plain inserts of ${writers} writers`, unit: '/s', value: aSecond(plain) },
    { name: `appends of ${writers} writers while rollups are folded`, unit: '/s', value: aSecond(appended) },
  );
  goals.push(
    goalAtMost('plain inserts over appends', '', 1.25, plain / appended),
    goalAtMost('age of the rollups while all write', 's', 5, seconds(oldestMs)),
  );
  return { results, goals };
}

const seconds = (ms: number): number => Math.round(ms / 100) / 10;

async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

/**
 * Folds as the dispatcher's loop does. The rollups are oldest just before a fold is done: as old as the beginning of
 * the fold before it.
 */
function foldMeanwhile(database: PostgresDatabase, io: BenchIo) {
  let oldestMs = 0;
  let known = performance.now();
  let folding = false;
  const fold = async (): Promise<void> => {
    if (folding) return;
    folding = true;
    const began = performance.now();
    try {
      await foldCosts(database);
      oldestMs = Math.max(oldestMs, performance.now() - known);
      known = began;
    } catch (error) {
      io.say(String(error));
    } finally {
      folding = false;
    }
  };
  const timer = setInterval(() => void fold(), foldEveryMs).unref();
  return {
    oldestMs: () => oldestMs,
    stop: async () => {
      clearInterval(timer);
      await fold();
    },
  };
}

/** A table like the one of the entries and without its indexes; only the owner may make one. */
async function makePlainTable(database: PostgresDatabase): Promise<void> {
  await database.transaction(async (tx) => {
    await tx.query('SET LOCAL ROLE NONE');
    await tx.query('CREATE TABLE bench_plain (LIKE cost_entries INCLUDING DEFAULTS INCLUDING IDENTITY)');
    await tx.query('GRANT INSERT ON bench_plain TO lemniscate_app');
  });
}

/** Twenty exchanges a session, a year of days, 40 projects, 500 people. */
async function fill(database: PostgresDatabase, rows: number, io: BenchIo): Promise<void> {
  for (let from = 0; from < rows && !io.signal.aborted; from += rowsAtOnce)
    await database.query(
      `INSERT INTO cost_entries (kind, usage_id, session_id, day, project_id, agent, subject, runtime, provider, model,
         exchanges, input_tokens, output_tokens, cache_read_tokens, input_usd, output_usd, cache_read_usd)
       SELECT 'usage', 'use_' || n, 's_' || n / 20, date '2026-01-01' + ((n / 20) % 365)::int, 'project-' || (n / 20) % 40,
         'default', 'person-' || (n / 20) % 500, 'native', 'anthropic', 'model-' || n % 3, 1, n % 5000, n % 700,
         n % 90000, (n % 5000) * 0.000003, (n % 700) * 0.000015, (n % 90000) * 0.0000003
       FROM generate_series($1::bigint, $2::bigint) n`,
      [from, Math.min(rows, from + rowsAtOnce) - 1],
    );
}

/** Every sum of all rollups as one text. */
async function digits(database: PostgresDatabase): Promise<string> {
  const [row] = await database.query<{ text: string }>(
    `SELECT concat_ws(' ', (SELECT sum(hashtextextended(d::text, 0)) FROM cost_days d),
       (SELECT sum(hashtextextended(s::text, 0)) FROM cost_sessions s),
       (SELECT sum(hashtextextended(s::text, 0)) FROM cost_session_days s)) AS text`,
  );
  return row?.text ?? '';
}

/** @returns how many there were in `writingMs` */
async function appends(database: PostgresDatabase, table: string, io: BenchIo): Promise<number> {
  const until = performance.now() + writingMs;
  let count = 0;
  const write = async (writer: number): Promise<void> => {
    while (performance.now() < until && !io.signal.aborted) {
      await database.query(
        `INSERT INTO ${table} (kind, usage_id, session_id, day, project_id, agent, subject, runtime, provider, model,
           exchanges, input_tokens, output_tokens, input_usd, output_usd)
         VALUES ('usage', $1, $2, '2026-11-29', 'project-1', 'default', 'person-1', 'native', 'anthropic', 'model-1',
           1, 1000, 100, 0.003, 0.0015)`,
        [`use_bench_${writer}_${count}`, `s_bench_${writer}`],
      );
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
  return count;
}
