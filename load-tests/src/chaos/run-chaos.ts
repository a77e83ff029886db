import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createApiClient } from '@lemniscate/cli/api-client.ts';
import { inspectRepository } from '@lemniscate/cli/repository/inspect.ts';
import { uploadRepository } from '@lemniscate/cli/repository/upload.ts';
import { seededRandom } from '@lemniscate/shared/seeded-random.ts';
import { countAsks } from './asks.ts';
import type { Asks } from './asks.ts';
import type { PartKind } from './crash-book.ts';
import { gatherEvidence } from './evidence.ts';
import type { Evidence } from './evidence.ts';
import { strikeUntil } from './faults.ts';
import { openHistory } from './history.ts';
import { brokenOff } from './broken-off.ts';
import { countErrors } from './log-lines.ts';
import { killNow } from './kill-now.ts';
import { checkInvariants, invariants } from './invariants.ts';
import type { Violation } from './invariants.ts';
import { allClear } from './operator.ts';
import { openStage } from './stage.ts';
import type { ChaosStage } from './stage.ts';
import { runWorkload } from './workload.ts';

export interface ChaosOptions {
  readonly seed: number;
  readonly minutes: number;
  /** Sessions a second. */
  readonly perSecond: number;
  readonly withRealServer: boolean;
  /** Whether something has to die at every crash point that is passed. */
  readonly exhaustive: boolean;
  readonly projectRoot: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly say: (line: string) => void;
  /** Ends the storm early; what is there is looked at all the same. */
  readonly signal?: AbortSignal;
}

export interface ChaosReport {
  readonly seed: number;
  readonly minutes: number;
  readonly asks: Asks;
  readonly sessions: number;
  readonly ends: Readonly<Record<string, number>>;
  /** Sessions that lost a server and were completed all the same. */
  readonly survivors: number;
  readonly strikes: Readonly<Record<string, number>>;
  readonly restarts: number;
  /** Deaths by kill -9 at a named crash point. */
  readonly deathsAtPoints: number;
  readonly crashPoints: Readonly<
    Record<PartKind, { readonly seen: number; readonly left: readonly string[] }>
  >;
  /** Errors in the logs of all processes, by what they say. */
  readonly errors: Readonly<Record<string, number>>;
  /** Every promise, and how often it was broken. */
  readonly promises: Readonly<Record<string, number>>;
  readonly violations: readonly Violation[];
  /** What a run of ten minutes or more is to have done and has not; sentences. */
  readonly shortfalls: readonly string[];
  /** What is kept where something is wrong: history, logs, plans. */
  readonly folder: string;
}

/** From so many minutes on a run is to hit every crash point, and to do so many sessions. */
const thoroughMinutes = 10;
const thoroughSessions = 2_000;

/** After the last fault something has to come to its end within each such time, until everything has. */
const settleMs = 180_000;

/** One run: a fleet, a load, faults, and at the end every promise is looked at. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-chaos-'));
  const undo = new AsyncDisposableStack();
  let isGood = false;
  try {
    const report = await run(options, folder, undo);
    isGood = report.violations.length === 0;
    return report;
  } finally {
    await undo.disposeAsync();
    if (isGood) rmSync(folder, { recursive: true, force: true });
  }
}

async function run(options: ChaosOptions, folder: string, undo: AsyncDisposableStack): Promise<ChaosReport> {
  const { say, seed } = options;
  const stage = await openStage(
    { ...options, folder, crashChance: options.exhaustive ? 0.0005 : 0.002 },
    undo,
  );
  say(`the stage is up: ${stage.parts.map(({ name }) => name).join(', ')}`);
  const history = openHistory(join(folder, 'history.ndjson'));
  const realRepository = options.withRealServer ? await uploadEmpty(stage, folder) : null;
  const over = new AbortController();
  const strikes = new Map<string, number>();
  stage.book.begin();
  const plans = setInterval(() => stage.book.write(), 500);
  undo.defer(() => clearInterval(plans));
  const hunt = options.exhaustive ? setInterval(huntVictims(stage), 1_000) : undefined;
  undo.defer(() => clearInterval(hunt));
  const from = performance.now();
  const timer = setInterval(() => {
    const minutes = (performance.now() - from) / 60_000;
    const isDone = !options.exhaustive || stage.book.victims().length === 0;
    // A slow machine takes longer to come by every crash point; half as long again at most.
    if (minutes >= options.minutes * (isDone || options.minutes < thoroughMinutes ? 1 : 1.5)) over.abort();
  }, 500);
  undo.defer(() => clearInterval(timer));
  options.signal?.addEventListener('abort', () => over.abort());
  // Two streams of numbers: how often a load asks must not change which faults come.
  await Promise.all([
    runWorkload(stage, history, {
      seed,
      random: seededRandom(seed),
      perSecond: options.perSecond,
      realOneIn: 40,
      realRepository,
      signal: over.signal,
    }),
    strikeUntil(stage, {
      random: seededRandom(seed + 1),
      signal: over.signal,
      onStrike: (fault, { on, forMs }) => {
        strikes.set(fault.name, (strikes.get(fault.name) ?? 0) + 1);
        history.note({ what: 'fault', fault: fault.name, on, forMs });
      },
      onFailure: (fault, error) => say(`“${fault.name}” could not be done: ${String(error)}`),
      onMend: (fault, { on }) => history.note({ what: 'healed', fault: fault.name, on }),
    }),
  ]);
  stage.book.end();
  clearInterval(plans);
  clearInterval(hunt);
  say(`${history.events.length} things happened; everything is mended and has to settle`);
  const evidence = await settled(stage, history.events, say);
  const errors = countErrors(join(folder, 'data/logs'));
  const violations = [...checkInvariants(evidence), ...leftSandboxes(folder), ...brokenSessions(errors)];
  const points = stage.book.report();
  const ends = Object.groupBy(evidence.sessions, ({ state, reason }) => `${state} ${reason ?? ''}`.trim());
  const report: ChaosReport = {
    seed,
    minutes: options.minutes,
    asks: countAsks(evidence.history),
    sessions: evidence.sessions.length,
    ends: Object.fromEntries(Object.entries(ends).map(([end, sessions]) => [end, sessions?.length ?? 0])),
    survivors: evidence.sessions.filter(({ state, losses }) => state === 'completed' && losses > 0).length,
    strikes: Object.fromEntries(strikes),
    restarts: stage.parts.reduce((sum, { service }) => sum + service.restarts(), 0),
    deathsAtPoints: Object.values(points).reduce((sum, { deaths }) => sum + deaths, 0),
    crashPoints: Object.fromEntries(
      Object.entries(points).map(([kind, { seen, left }]) => [kind, { seen: seen.length, left }]),
    ) as unknown as ChaosReport['crashPoints'],
    promises: countBroken(violations),
    errors,
    violations,
    shortfalls:
      options.minutes < thoroughMinutes ? [] : [...shortfallsOf(evidence, points), ...unreadReasons(stage)],
    folder,
  };
  writeFileSync(join(folder, 'report.json'), JSON.stringify(report, null, 2));
  return report;
}

function countBroken(violations: readonly Violation[]): Record<string, number> {
  const names = [...Object.keys(invariants), noSandbox, noneBroken];
  return Object.fromEntries(
    names.map((name) => [name, violations.filter(({ invariant }) => invariant === name).length]),
  );
}

function shortfallsOf(evidence: Evidence, points: ReturnType<ChaosStage['book']['report']>): string[] {
  const left = Object.values(points).flatMap(({ left }) => left);
  return [
    ...(evidence.sessions.length < thoroughSessions
      ? [`${evidence.sessions.length} sessions of ${thoroughSessions}`]
      : []),
    ...(left.length === 0 ? [] : [`nothing died at ${left.length} crash points: ${left.join(', ')}`]),
  ];
}

/**
 * A server whose disk was full has to have been out of the rotation, with a reason that an operator can read. Once is enough: each
 * time it may have been silent for another fault as well, and that is then what is read.
 */
function unreadReasons({ serverDisk }: ChaosStage): string[] {
  if (serverDisk === null || serverDisk.reasons.length === 0) return [];
  if (serverDisk.reasons.some((reason) => reason?.includes('disk is full'))) return [];
  return [
    `the disk of ${serverDisk.server} was full and nobody could ever read it: ${serverDisk.reasons.join('; ')}`,
  ];
}

/** A life so long without a death comes by none of the points that are left; some are passed at a start alone. */
const longLifeMs = 25_000;

/** Ends long lives of the victims. */
function huntVictims(stage: ChaosStage): () => void {
  const born = new Map<string, { readonly pid: number; readonly at: number }>();
  return () => {
    const victims = new Set(stage.book.victims());
    for (const { name, service } of stage.parts) {
      const pid = service.pid();
      if (!victims.has(name) || pid === undefined) continue;
      const life = born.get(name);
      if (life?.pid !== pid) born.set(name, { pid, at: performance.now() });
      else if (performance.now() - life.at > longLifeMs) killNow(pid);
    }
  };
}

/** Looks until nothing is wrong any more or the time is over: what is still wrong then stays wrong. */
async function settled(
  stage: ChaosStage,
  history: Evidence['history'],
  say: (line: string) => void,
): Promise<Evidence> {
  let until = performance.now() + settleMs;
  let least = Infinity;
  for (;;) {
    await allClear(stage);
    const evidence = await gatherEvidence(stage, history).catch((error: unknown) => {
      // A store that has just been mended may not answer yet.
      if (performance.now() > until) throw error;
      say(`the evidence cannot be gathered yet: ${String(error)}`);
      return null;
    });
    if (evidence !== null) {
      const wrong = checkInvariants(evidence).length;
      if (wrong === 0 || performance.now() > until) return evidence;
      if (wrong < least) until = performance.now() + settleMs;
      least = Math.min(least, wrong);
      say(`${wrong} things are not settled yet`);
    }
    await delay(3_000);
  }
}

/** A repository for real sandboxes, with one file. */
async function uploadEmpty(stage: ChaosStage, folder: string): Promise<unknown> {
  const repository = join(folder, 'repository');
  mkdirSync(repository);
  writeFileSync(join(repository, 'README.md'), 'chaos\n');
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.invalid', ...args], {
      cwd: repository,
    });
  git('init', '-q', '-b', 'main');
  git('add', '-A');
  git('commit', '-qm', 'first');
  const client = createApiClient({ url: stage.apiUrls[0] ?? '', token: stage.token });
  const { source } = await uploadRepository(
    client,
    await inspectRepository(repository),
    AbortSignal.timeout(30_000),
    stage.realProject ?? '',
  );
  return source;
}

const noSandbox = 'no sandbox is leaked';
const noneBroken = 'every answer is one that a server knows';

function brokenSessions(errors: Readonly<Record<string, number>>): Violation[] {
  const count = errors[brokenOff] ?? 0;
  return count === 0 ? [] : [{ invariant: noneBroken, what: `${brokenOff}, ${count} times` }];
}

/** Commands of sessions that run on although every session has ended. */
function leftSandboxes(folder: string): Violation[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        const isLeft = command.includes(folder) && /\bbwrap\b.*\/sessions?\//.test(command);
        return isLeft ? [{ invariant: noSandbox, what: `process ${pid}: ${command}` }] : [];
      } catch (error) {
        // It ended while we looked.
        if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return [];
        throw error;
      }
    });
}
