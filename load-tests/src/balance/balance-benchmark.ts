import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { closeRedis, connectRedis } from '@lemniscate/dispatcher/adapters/redis/connection.ts';
import { createReservations } from '@lemniscate/dispatcher/adapters/redis/reservation.ts';
import type { Reservations } from '@lemniscate/dispatcher/application/ports/reservations.ts';
import { openDataFolder } from '@lemniscate/local/data-folder.ts';
import { openPortBook } from '@lemniscate/local/port-book.ts';
import { unprivilegedUser } from '@lemniscate/local/process/unprivileged-user.ts';
import { startRedis } from '@lemniscate/local/redis.ts';
import { distribution, goalAtMost } from '../benchmark.ts';
import type { BenchIo, Benchmark } from '../benchmark.ts';
import { seededRandom } from '@lemniscate/shared/seeded-random.ts';
import { drawMs } from '../simulated/plan.ts';

const dispatchers = 5;
const servers = 100;
const rounds = 40;
const burst = 1_000;
/** Slots of one server: nobody is full, so that only the choice counts. */
const capacity = 200;
/** To reach: the fullest server of all holds at most one more than the mean, whether a burst gave it a session or not. */
const maxAboveMean = 1;

/** Chooses a server for one session of a burst. */
type Choose = (dispatcher: number, session: string) => Promise<number> | number;
interface Policy {
  readonly name: string;
  readonly choose: Choose;
  /** Before each burst: what everybody is told of the loads. */
  readonly report: (loads: readonly number[]) => void;
  readonly leave: (session: string) => Promise<void> | void;
}

/** Bursts from five dispatchers onto a hundred servers, with sessions that last one burst or very many. */
export const balanceBenchmark: Benchmark = {
  name: 'balance',
  about: 'how even bursts fall on 100 servers: the ledger, random, two choices, stale least-loaded',
  async run(io) {
    const parts = new AsyncDisposableStack();
    try {
      const ledgers = await openLedgers(io, parts);
      const random = seededRandom(7);
      const policies = [ledgerPolicy(ledgers), randomPolicy(random), twoChoices(random), staleLeastLoaded()];
      const seen = [];
      for (const policy of policies) {
        const { chosen, all } = await runBursts(policy);
        seen.push(distribution(`${policy.name}: fullest that was chosen minus mean`, 'slots', chosen));
        seen.push(distribution(`${policy.name}: fullest of all minus mean`, 'slots', all));
        io.say(`${policy.name}: at worst ${Math.max(...all).toFixed(2)} slots above the mean`);
      }
      // Of the first policy the second row.
      const ledger = seen[1]?.max ?? Number.NaN;
      return {
        results: seen,
        goals: [goalAtMost('ledger: fullest of all minus mean, at worst', 'slots', maxAboveMean, ledger)],
      };
    } finally {
      await parts.disposeAsync();
    }
  },
};

async function openLedgers(io: BenchIo, parts: AsyncDisposableStack): Promise<Reservations[]> {
  const folder = mkdtempSync(join(tmpdir(), 'lemniscate-bench-balance-'));
  chmodSync(folder, 0o755);
  parts.defer(() => rmSync(folder, { recursive: true, force: true }));
  const data = openDataFolder({ LEMNISCATE_DATA: join(folder, 'data') }, io.projectRoot);
  const ports = openPortBook(data);
  parts.defer(ports.close);
  const own = await startRedis(data, await ports.of('redis'), unprivilegedUser(), io.say);
  parts.defer(() => own.process.stop());
  const ledgers = Array.from({ length: dispatchers }, (_, index) => {
    const redis = connectRedis(new URL(own.url), () => undefined);
    parts.defer(() => closeRedis(redis, 1_000));
    return createReservations(redis, '{balance:placement}', seededRandom(index));
  });
  const [first] = ledgers;
  await first?.rebuild(
    Array.from({ length: servers }, (_, index) => ({
      serverId: String(index),
      pool: 'default',
      capacity,
      tokens: [],
      warm: 0,
      mirrors: [],
      starting: 0,
      report: 1,
      startingLimit: 100_000,
      sessions: [],
      gone: [],
    })),
  );
  return ledgers;
}

/** @returns how far the fullest server was above the mean after each burst: of those that it chose, and of all */
async function runBursts(policy: Policy): Promise<{ chosen: number[]; all: number[] }> {
  const random = seededRandom(11);
  const loads = Array.from({ length: servers }, () => 0);
  const leaving = new Map<number, { session: string; server: number }[]>();
  const outcome = { chosen: [] as number[], all: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    for (const { session, server } of leaving.get(round) ?? []) {
      await policy.leave(session);
      loads[server] = (loads[server] ?? 0) - 1;
    }
    policy.report([...loads]);
    const chosen = new Set<number>();
    await Promise.all(
      Array.from({ length: burst }, async (_, index) => {
        const session = `r${round}n${index}`;
        // Half of them last one burst, a few as long as the run.
        const lasts = Math.ceil(drawMs({ kind: 'heavy', medianMs: 1, shape: 1.1, mostMs: rounds }, random));
        const server = await policy.choose(index % dispatchers, session);
        loads[server] = (loads[server] ?? 0) + 1;
        chosen.add(server);
        const end = round + lasts;
        leaving.set(end, [...(leaving.get(end) ?? []), { session, server }]);
      }),
    );
    const mean = loads.reduce((sum, load) => sum + load, 0) / servers;
    const above = (of: readonly number[]): number => Math.round((Math.max(...of) - mean) * 100) / 100;
    outcome.all.push(above(loads));
    outcome.chosen.push(above([...chosen].map((server) => loads[server] ?? 0)));
  }
  return outcome;
}

function ledgerPolicy(ledgers: readonly Reservations[]): Policy {
  const operation = (session: string): string => `${session}-g1-0`;
  return {
    name: 'ledger',
    report: () => undefined,
    choose: async (dispatcher, session) => {
      const [answer] =
        (await ledgers[dispatcher]?.reserve({
          wishes: [{ operation: operation(session), placementClass: 'default', mirror: null, pinned: null }],
          exclude: [],
        })) ?? [];
      if (answer?.kind !== 'reserved') throw new Error('the ledger has no room');
      return Number(answer.serverId);
    },
    leave: async (session) => {
      await ledgers[0]?.release(operation(session));
    },
  };
}

function randomPolicy(random: () => number): Policy {
  return {
    name: 'random',
    report: () => undefined,
    choose: () => Math.floor(random() * servers),
    leave: () => undefined,
  };
}

/** Each dispatcher knows the last report and what it has sent since itself. */
function ownView(): { report: Policy['report']; viewOf: (dispatcher: number) => number[] } {
  let views: number[][] = [];
  return {
    report: (loads) => {
      views = Array.from({ length: dispatchers }, () => [...loads]);
    },
    viewOf: (dispatcher) => views[dispatcher] ?? [],
  };
}

function twoChoices(random: () => number): Policy {
  const { report, viewOf } = ownView();
  return {
    name: 'two choices',
    report,
    choose: (dispatcher) => {
      const view = viewOf(dispatcher);
      const [one, other] = [Math.floor(random() * servers), Math.floor(random() * servers)];
      const chosen = (view[one] ?? 0) <= (view[other] ?? 0) ? one : other;
      view[chosen] = (view[chosen] ?? 0) + 1;
      return chosen;
    },
    leave: () => undefined,
  };
}

function staleLeastLoaded(): Policy {
  let loads: readonly number[] = [];
  return {
    name: 'stale least-loaded',
    report: (reported) => {
      loads = reported;
    },
    choose: () => loads.indexOf(Math.min(...loads)),
    leave: () => undefined,
  };
}
