import { readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connectRedis, closeRedis } from '@lemniscate/dispatcher/adapters/redis/connection.ts';
import { serverFault } from '@lemniscate/dispatcher/application/servers/server-fault.ts';
import { findServer } from '@lemniscate/dispatcher/application/servers/server-row.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { LineState } from './line.ts';
import { setDrained, setIntakePaused } from './operator.ts';
import { graceMs, leaseMs } from './stage.ts';
import type { ChaosStage, Part } from './stage.ts';

/** One kind of harm. It chooses what it strikes, and its undo comes by itself after `forMs`. */
export interface Fault {
  readonly name: string;
  /** How often it comes beside the others. */
  readonly weight: number;
  /** What it strikes, and for how long. @returns null where this stage has nothing of the kind */
  plan(stage: ChaosStage, random: () => number): Strike | null;
}

export interface Strike {
  readonly on: string;
  /** Milliseconds; 0: it happens and is over. */
  readonly forMs: number;
  /** How long it is then left alone, in milliseconds; absent: not at all. */
  readonly restMs?: number;
  begin(): Promise<void> | void;
  end(): Promise<void> | void;
}

const pick = <Value>(list: readonly Value[], random: () => number): Value | undefined =>
  list[Math.floor(random() * list.length)];
const nothing = (): void => undefined;

/** A process that is just between two lives is dead already. */
function signal(pid: number | undefined, name: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

const killed = (weight: number, kind: Part['kind']): Fault => ({
  name: `kill -9 a ${kind}`,
  weight,
  plan: (stage, random) => {
    const part = pick(
      stage.parts.filter((each) => each.kind === kind),
      random,
    );
    if (part === undefined) return null;
    return {
      on: part.name,
      forMs: 0,
      begin: () => signal(part.service.pid(), 'SIGKILL'),
      end: nothing,
    };
  },
});

const frozen = (weight: number, kind: Part['kind'], forMs: number): Fault => ({
  name: `SIGSTOP a ${kind}`,
  weight,
  plan: (stage, random) => {
    const part = pick(
      stage.parts.filter((each) => each.kind === kind),
      random,
    );
    const pid = part?.service.pid();
    if (part === undefined || pid === undefined) return null;
    return {
      on: part.name,
      forMs,
      begin: () => signal(pid, 'SIGSTOP'),
      end: () => signal(pid, 'SIGCONT'),
    };
  },
});

const brokenLine = (weight: number, state: Exclude<LineState, 'open'>, name: string): Fault => ({
  name,
  weight,
  plan: (stage, random) => {
    const line = pick(stage.lines, random);
    if (line === undefined) return null;
    return {
      on: line.name,
      forMs: 1_000 + Math.floor(random() * 6_000),
      begin: () => line.set(state),
      end: () => line.set('open'),
    };
  },
});

const storeOf = (stage: ChaosStage, name: string) =>
  stage.stores.processes.find((process) => process.name === name);

/** Who supervises an embedded store gives it up after five crashes in a minute; no store fails over more often. */
const storeRestMs = 20_000;

const killedStore = (
  weight: number,
  store: 'redis' | 'postgres',
  name: NodeJS.Signals,
  fault: string,
): Fault => ({
  name: fault,
  weight,
  plan: (stage) => ({
    on: store,
    forMs: 0,
    restMs: storeRestMs,
    begin: () => signal(stage[store].process().pid(), name),
    end: nothing,
  }),
});

const failedOver = (weight: number, store: 'redis' | 'postgres', fault: string): Fault => ({
  name: fault,
  weight,
  // Whoever has just lost its follower can only be killed.
  plan: (stage) =>
    stage[store].isWhole()
      ? { on: store, forMs: 0, restMs: storeRestMs, begin: stage[store].failOver, end: nothing }
      : null,
});

const flushed: Fault = {
  name: 'FLUSHALL',
  weight: 2,
  plan: (stage) => ({
    on: 'redis',
    forMs: 0,
    begin: async () => {
      const redis = connectRedis(new URL(stage.redis.url()), () => undefined);
      try {
        await redis.flushall();
      } finally {
        await closeRedis(redis, 500);
      }
    },
    end: nothing,
  }),
};

const forgetful: Fault = {
  name: 'Redis restarts without what it kept',
  weight: 1,
  plan: (stage) => ({
    on: 'redis',
    forMs: 0,
    restMs: storeRestMs,
    begin: () => {
      rmSync(join(stage.folder, stage.redis.folder(), 'appendonlydir'), { recursive: true, force: true });
      signal(stage.redis.process().pid(), 'SIGKILL');
    },
    end: nothing,
  }),
};

const s3Outage: Fault = {
  name: 'S3 is away',
  weight: 1,
  plan: (stage, random) => ({
    on: 's3',
    forMs: 2_000 + Math.floor(random() * 6_000),
    begin: () => signal(storeOf(stage, 's3')?.pid(), 'SIGSTOP'),
    end: () => signal(storeOf(stage, 's3')?.pid(), 'SIGCONT'),
  }),
};

const providerOutage: Fault = {
  name: 'the provider is overloaded',
  weight: 1,
  plan: (stage, random) => ({
    on: 'provider',
    forMs: 2_000 + Math.floor(random() * 5_000),
    begin: () => stage.provider.setOutage(true),
    end: () => stage.provider.setOutage(false),
  }),
};

const fullDisk: Fault = {
  name: 'the exporter’s disk is full',
  weight: 1,
  plan: (stage) => {
    if (!stage.sinkIsDisk) return null;
    const filler = join(stage.sinkFolder, 'filler');
    return {
      on: 'exporter',
      forMs: 5_000,
      begin: () => {
        try {
          for (let piece = 0; ; piece += 1)
            writeFileSync(filler, Buffer.alloc(16 * 1024 * 1024), { flag: piece === 0 ? 'w' : 'a' });
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        }
      },
      end: () => {
        if (!readdirSync(stage.sinkFolder).includes('filler')) return;
        truncateSync(filler, 0);
        rmSync(filler, { force: true });
      },
    };
  },
};

/** More than the small disk has above what a server has to have free. */
const fillingBytes = 96 * 1024 * 1024;

const fullServer: Fault = {
  name: 'a server’s disk is full',
  weight: 2,
  plan: ({ serverDisk, database }) => {
    if (serverDisk === null) return null;
    const filler = join(serverDisk.folder, 'filler');
    return {
      on: `disk of ${serverDisk.server}`,
      // Two heartbeats of it, and as long as a line may be cut meanwhile.
      forMs: 8_000,
      begin: () => writeFileSync(filler, Buffer.alloc(fillingBytes)),
      end: async () => {
        try {
          const row = await findServer(database, serverDisk.server);
          if (row !== null) serverDisk.reasons.push(serverFault(row));
        } catch (error) {
          // Where PostgreSQL is away just now, nobody can read it: the next time will do.
          if (!isCodedError(error)) throw error;
        } finally {
          rmSync(filler, { force: true });
        }
      },
    };
  },
};

const wrongClock: Fault = {
  name: 'a clock jumps by an hour',
  weight: 2,
  plan: (stage, random) => {
    const part = pick(stage.parts, random);
    if (part === undefined) return null;
    const hour = random() < 0.5 ? 3_600_000 : -3_600_000;
    return {
      on: part.name,
      forMs: 3_000 + Math.floor(random() * 6_000),
      begin: () => writeFileSync(part.clockFile, String(hour)),
      end: () => rmSync(part.clockFile, { force: true }),
    };
  },
};

const drained: Fault = {
  name: 'a server is drained',
  weight: 3,
  plan: (stage, random) => {
    const part = pick(
      stage.parts.filter(({ kind }) => kind === 'server' || kind === 'real'),
      random,
    );
    if (part === undefined) return null;
    return {
      on: `drain of ${part.name}`,
      forMs: 4_000 + Math.floor(random() * 6_000),
      begin: () => setDrained(stage, part.name, true),
      end: () => setDrained(stage, part.name, false),
    };
  },
};

const pausedIntake: Fault = {
  name: 'intake is paused',
  weight: 2,
  plan: (stage, random) => ({
    on: 'intake',
    forMs: 1_000 + Math.floor(random() * 4_000),
    begin: () => setIntakePaused(stage, true),
    end: () => setIntakePaused(stage, false),
  }),
};

/** Every kind of harm, one line each. */
export const faults: readonly Fault[] = [
  killed(3, 'dispatcher'),
  killed(3, 'server'),
  killed(1, 'real'),
  killed(1, 'exporter'),
  frozen(2, 'server', leaseMs + graceMs + 2_500),
  frozen(1, 'dispatcher', leaseMs + graceMs + 2_500),
  frozen(1, 'exporter', 4_000),
  killedStore(1, 'redis', 'SIGKILL', 'Redis is killed and keeps what it had'),
  killedStore(1, 'postgres', 'SIGINT', 'Postgres is shut down'),
  killedStore(1, 'postgres', 'SIGKILL', 'Postgres is killed'),
  failedOver(2, 'redis', 'Redis fails over'),
  failedOver(2, 'postgres', 'Postgres fails over'),
  forgetful,
  flushed,
  brokenLine(4, 'cut', 'a line is cut'),
  brokenLine(3, 'stalled', 'a partition'),
  brokenLine(4, 'deaf', 'replies are lost'),
  s3Outage,
  providerOutage,
  fullDisk,
  fullServer,
  wrongClock,
  drained,
  pausedIntake,
];

/** Draws the next fault. */
export function drawFault(random: () => number): Fault {
  const sum = faults.reduce((total, { weight }) => total + weight, 0);
  let at = random() * sum;
  for (const fault of faults) {
    at -= fault.weight;
    if (at < 0) return fault;
  }
  return flushed;
}

/** Strikes, one after the other and sometimes several at once, until the time is over; then everything is mended. */
export async function strikeUntil(
  stage: ChaosStage,
  options: {
    readonly random: () => number;
    readonly signal: AbortSignal;
    readonly onStrike: (fault: Fault, strike: Strike) => void;
    readonly onMend: (fault: Fault, strike: Strike) => void;
    /** It could not be done. */
    readonly onFailure: (fault: Fault, error: unknown) => void;
  },
): Promise<void> {
  const running = new Set<Promise<void>>();
  const struck = new Set<string>();
  while (!options.signal.aborted) {
    const fault = drawFault(options.random);
    const strike = fault.plan(stage, options.random);
    const pauseMs = 1_000 + options.random() * 4_000;
    // Two faults on one thing would mend each other.
    if (strike !== null && !struck.has(strike.on)) {
      struck.add(strike.on);
      const one = carryOut(fault, strike, options).finally(() => {
        struck.delete(strike.on);
        running.delete(one);
      });
      running.add(one);
    }
    await delay(pauseMs, undefined, { signal: options.signal }).catch(nothing);
  }
  await Promise.all(running);
  for (const line of stage.lines) line.set('open');
  stage.provider.setOutage(false);
}

async function carryOut(
  fault: Fault,
  strike: Strike,
  options: Parameters<typeof strikeUntil>[1],
): Promise<void> {
  try {
    await strike.begin();
    options.onStrike(fault, strike);
  } catch (error) {
    // The storm goes on without it; what it left half done the promises will show.
    options.onFailure(fault, error);
    return;
  }
  if (strike.forMs > 0) await delay(strike.forMs, undefined, { signal: options.signal }).catch(nothing);
  await strike.end();
  if (strike.forMs > 0) options.onMend(fault, strike);
  if (strike.restMs !== undefined)
    await delay(strike.restMs, undefined, { signal: options.signal }).catch(nothing);
}
