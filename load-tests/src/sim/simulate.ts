import type { Cursor, Lane } from '@lemniscate/shared/queue/fair-share.ts';
import { keepTurns, shareTurns } from '@lemniscate/shared/queue/fair-turns.ts';
import { queueDelaySeconds } from '@lemniscate/shared/queue/priority.ts';
import { createSlotLedger } from '@lemniscate/shared/queue/slot-ledger.ts';
import { seededRandom } from '@lemniscate/shared/seeded-random.ts';
import { queueDepth } from '@lemniscate/dispatcher/application/admission/admit-sessions.ts';
import { defaultPool } from '@lemniscate/dispatcher/application/servers/configured-server.ts';
import { createMassExpiryGuard } from '@lemniscate/dispatcher/application/recovery/mass-expiry.ts';
import { maxLanes } from '@lemniscate/dispatcher/application/admission/waiting-sessions.ts';
import { loadAt } from './day.ts';
import type { DayPlan } from './day.ts';
import { createWaitingLane } from './waiting-lane.ts';

/** What is seen of one minute. */
export interface SeenMinute {
  readonly minute: number;
  readonly opened: number;
  readonly started: number;
  readonly waiting: number;
  /** Share of the slots that are in use. */
  readonly utilisation: number;
  /** Of the starts. */
  readonly warmHits: number;
  readonly mirrorHits: number;
}

export interface SeenDay {
  readonly minutes: readonly SeenMinute[];
  /** Seconds that each started session had waited, by tenant. */
  readonly waits: readonly Float32Array[];
  readonly opened: number;
  readonly started: number;
  readonly completed: number;
  readonly lost: number;
  /** After so many seconds the sessions of the lost zone were given up; null: never. */
  readonly noticedAfter: number | null;
  /** Admissions that were run, and slots that they gave. */
  readonly bites: number;
}

/** Virtual time moves in steps of a tenth of a second: what happens within one happens at its end. */
const stepsPerSecond = 10;

/**
 * A day in virtual time. Admission is the dispatcher's: the same turns over the same number of lanes in bites of the same
 * size. Placement is the ledger's rule. What is modelled is everything else: who asks when, how long
 * work takes, and which servers are there.
 */
export function simulateDay(plan: DayPlan): SeenDay {
  const random = seededRandom(plan.seed);
  const { tenants, servers: serverCount } = plan;
  const most = Math.ceil(plan.sessions * 1.3) + 1_000;
  const tenantOf = new Uint16Array(most);
  const bornAt = new Float32Array(most);
  const queuedAt = new Float32Array(most);
  const left = new Float32Array(most);
  const repositoryOf = new Uint16Array(most);
  const delayOf = new Uint16Array(most);
  // Bumped at each start and each loss, so that an end of an earlier attempt ends nothing.
  const attempt = new Uint8Array(most);
  const serverOf = new Int32Array(most);
  const startedAt = new Float32Array(most);
  const repeats = new Set<number>();
  let count = 0;

  const warm = new Uint8Array(serverCount).fill(plan.warmPerServer);
  const mirrors: Set<number>[] = Array.from({ length: serverCount }, () => new Set<number>());
  const held: Set<number>[] = Array.from({ length: serverCount }, () => new Set<number>());
  const ledger = createSlotLedger(
    Array.from({ length: serverCount }, () => ({ capacity: plan.capacity })),
    {
      hasWarm: (server) => (warm[server] ?? 0) > 0,
      hasMirror: (server, mirror) => mirrors[server]?.has(mirror) === true,
    },
    random,
  );
  const lanes = tenants.map(() => createWaitingLane());
  const running = new Int32Array(tenants.length);
  const deficits = new Float64Array(tenants.length);
  const nameToTenant = new Map(tenants.map(({ name }, index) => [name, index]));
  const bounds = cumulative(tenants.map(({ share }) => share));
  const waits: number[][] = tenants.map(() => []);
  let cursor: Cursor = { lane: '', granted: false };

  // A wheel of ends and boots: one list a step, as far ahead as the longest work.
  const steps = plan.seconds * stepsPerSecond;
  const ends = new Map<number, number[]>();
  const boots = new Map<number, number[]>();
  const put = (wheel: Map<number, number[]>, step: number, value: number): void => {
    const list = wheel.get(step);
    if (list === undefined) wheel.set(step, [value]);
    else list.push(value);
  };

  let [opened, started, completed, lost, bites] = [0, 0, 0, 0, 0];
  const minutes: SeenMinute[] = [];
  let seen = { opened: 0, started: 0, warmHits: 0, mirrorHits: 0 };
  let inUse = 0;
  let waitingCount = 0;
  let darkSlots = 0;
  let virtualMs = 0;
  // The reaper's own: a whole zone is more than a fault of single servers.
  const guard = createMassExpiryGuard({ monotonicMs: () => virtualMs }, plan.holdSeconds * 1_000);
  let isSilent = false;
  let noticedAfter: number | null = null;

  const open = (tenant: number, now: number, delay: number, work: number): void => {
    if (count >= most) throw new Error('more sessions than were planned for');
    const session = count++;
    tenantOf[session] = tenant;
    bornAt[session] = now;
    queuedAt[session] = now;
    left[session] = work;
    delayOf[session] = delay;
    repositoryOf[session] =
      tenant * plan.repositoriesPerTenant + Math.floor(random() * plan.repositoriesPerTenant);
    serverOf[session] = -1;
    lanes[tenant]?.push(now + delay, session);
    waitingCount += 1;
    opened += 1;
    seen.opened += 1;
  };
  const drawWork = (): number => {
    const least = plan.medianSeconds / 2 ** (1 / plan.shape);
    return Math.min(plan.mostSeconds, least / (1 - random()) ** (1 / plan.shape));
  };
  const start = (session: number, server: number, now: number): void => {
    const tenant = tenantOf[session] ?? 0;
    if (!repeats.has(session)) waits[tenant]?.push(now - (queuedAt[session] ?? 0));
    started += 1;
    seen.started += 1;
    inUse += 1;
    waitingCount -= 1;
    running[tenant] = (running[tenant] ?? 0) + 1;
    serverOf[session] = server;
    startedAt[session] = now;
    held[server]?.add(session);
    const repository = repositoryOf[session] ?? 0;
    const own = mirrors[server];
    if (own?.has(repository) === true) seen.mirrorHits += 1;
    else if (own !== undefined) {
      const [oldest] = own;
      if (own.size >= plan.mirrorsPerServer && oldest !== undefined) own.delete(oldest);
      own.add(repository);
    }
    if ((warm[server] ?? 0) > 0) {
      seen.warmHits += 1;
      warm[server] = (warm[server] ?? 0) - 1;
      put(boots, Math.ceil((now + plan.bootSeconds) * stepsPerSecond), server);
    }
    const mark = (attempt[session] = ((attempt[session] ?? 0) + 1) % 256);
    put(ends, Math.ceil((now + (left[session] ?? 0)) * stepsPerSecond), session * 256 + mark);
  };
  const leaveServer = (session: number): void => {
    const server = serverOf[session] ?? -1;
    const tenant = tenantOf[session] ?? 0;
    held[server]?.delete(session);
    ledger.release(server);
    serverOf[session] = -1;
    running[tenant] = (running[tenant] ?? 0) - 1;
    inUse -= 1;
  };

  /** One admission: the dispatcher's bite. @returns whether another one may find more */
  const bite = (now: number): boolean => {
    if (waitingCount === 0) return false;
    const free = Math.min(queueDepth, ledger.free());
    if (free === 0) return false;
    const waiting = lanesFrom(cursor.lane);
    if (waiting.length === 0) return false;
    bites += 1;
    const perLane = Math.max(1, Math.ceil((2 * queueDepth) / waiting.length));
    const given: Lane[] = waiting
      .map((tenant) => {
        const size = lanes[tenant]?.size() ?? 0;
        const bound = tenants[tenant]?.maxConcurrent ?? null;
        return {
          name: tenants[tenant]?.name ?? '',
          weight: tenants[tenant]?.weight ?? 1,
          waiting: Math.min(size, perLane),
          more: size > perLane,
          room: bound === null ? null : Math.max(0, bound - (running[tenant] ?? 0)),
          deficit: deficits[tenant] ?? 0,
        };
      })
      .sort((one, other) => (one.name < other.name ? -1 : 1));
    const pool = { round: 0, classes: [{ name: defaultPool, lanes: given, cursor, due: 0 }] };
    const turns = shareTurns(pool, free);
    for (const { lane } of turns) {
      const tenant = nameToTenant.get(lane) ?? 0;
      const session = lanes[tenant]?.pop() ?? -1;
      const server = ledger.reserve(repositoryOf[session] ?? 0);
      if (session === -1 || server === null) throw new Error('a slot was promised that is not there');
      start(session, server, now);
    }
    for (const kept of keepTurns(pool, turns).classes) {
      for (const [name, deficit] of kept.deficits) deficits[nameToTenant.get(name) ?? 0] = deficit;
      cursor = kept.cursor;
    }
    if (turns.length > 0) return true;
    // None of these may have a slot: the next look begins behind them, and once around is enough.
    if (waiting.length < maxLanes) return false;
    cursor = { lane: `${given.at(-1)?.name ?? ''}\u0001`, granted: false };
    return false;
  };
  const lanesFrom = (from: string): number[] => {
    const all: number[] = [];
    for (let tenant = 0; tenant < lanes.length; tenant += 1)
      if ((lanes[tenant]?.size() ?? 0) > 0) all.push(tenant);
    if (all.length <= maxLanes) return all;
    const first = all.findIndex((tenant) => (tenants[tenant]?.name ?? '') >= from);
    return [...all.slice(Math.max(0, first)), ...all.slice(0, Math.max(0, first))].slice(0, maxLanes);
  };

  const inZone = (server: number): boolean => server % plan.zones === 0;
  const letsGo = (now: number): boolean => {
    virtualMs = now * 1_000;
    let [silent, fleet] = [0, 0];
    for (const [server, sessions] of held.entries()) {
      if (sessions.size === 0) continue;
      fleet += 1;
      if (inZone(server)) silent += 1;
    }
    return guard.allows(silent, fleet);
  };
  const perStep = plan.sessions / steps;
  const hourly = tenants.reduce((sum, { hourly: each }) => sum + each, 0);
  const spread = Math.max(0, 1 - (hourly * (plan.seconds / 3_600) + plan.resume.sessions) / plan.sessions);
  for (let step = 0; step < steps; step += 1) {
    const now = step / stepsPerSecond;
    for (const value of ends.get(step) ?? []) {
      const session = Math.floor(value / 256);
      if (serverOf[session] === -1 || attempt[session] !== value % 256) continue;
      leaveServer(session);
      completed += 1;
    }
    ends.delete(step);
    for (const server of boots.get(step) ?? []) warm[server] = plan.warmPerServer;
    boots.delete(step);

    const expected = perStep * spread * loadAt(now);
    for (let arrivals = poisson(expected, random); arrivals > 0; arrivals -= 1) {
      const draw = random();
      const urgency = random();
      open(pick(bounds, draw), now, queueDelaySeconds(urgency < 0.4 ? 'high' : 'normal'), drawWork());
    }
    if (step % (3_600 * stepsPerSecond) === 0)
      for (const [tenant, { hourly: each }] of tenants.entries())
        for (let index = 0; index < each; index += 1) open(tenant, now, queueDelaySeconds('low'), drawWork());
    if (step === plan.resume.at * stepsPerSecond)
      for (let index = 0; index < plan.resume.sessions; index += 1)
        open(pick(bounds, random()), now, 0, drawWork() / 2);

    if (step === plan.zoneLoss.at * stepsPerSecond)
      for (let server = 0; server < serverCount; server += 1) {
        if (!inZone(server)) continue;
        ledger.withdraw(server);
        darkSlots += plan.capacity;
        isSilent = true;
      }
    if (isSilent && step >= (plan.zoneLoss.at + plan.noticeSeconds) * stepsPerSecond && letsGo(now)) {
      isSilent = false;
      noticedAfter = now - plan.zoneLoss.at;
      for (let server = 0; server < serverCount; server += 1) {
        if (!inZone(server)) continue;
        for (const session of held[server] ?? []) {
          const worked = plan.zoneLoss.at - (startedAt[session] ?? 0);
          const kept = Math.max(0, Math.floor(worked / plan.checkpointSeconds) * plan.checkpointSeconds);
          left[session] = Math.max(1, (left[session] ?? 0) - kept);
          leaveServer(session);
          lost += 1;
          repeats.add(session);
          waitingCount += 1;
          // It keeps the place of its birth.
          lanes[tenantOf[session] ?? 0]?.push((bornAt[session] ?? 0) + (delayOf[session] ?? 0), session);
        }
        mirrors[server]?.clear();
        warm[server] = plan.warmPerServer;
      }
    }
    if (step === (plan.zoneLoss.at + plan.zoneLoss.forSeconds) * stepsPerSecond)
      for (let server = 0; server < serverCount; server += 1) {
        if (!inZone(server)) continue;
        ledger.restore(server);
        darkSlots -= plan.capacity;
        isSilent = false;
      }

    while (bite(now));
    if ((step + 1) % (60 * stepsPerSecond) !== 0) continue;
    minutes.push({
      minute: minutes.length,
      opened: seen.opened,
      started: seen.started,
      waiting: waitingCount,
      utilisation: inUse / (serverCount * plan.capacity - darkSlots),
      warmHits: seen.warmHits,
      mirrorHits: seen.mirrorHits,
    });
    seen = { opened: 0, started: 0, warmHits: 0, mirrorHits: 0 };
  }
  return {
    minutes,
    waits: waits.map((list) => Float32Array.from(list).sort()),
    opened,
    started,
    completed,
    lost,
    noticedAfter,
    bites,
  };
}

function cumulative(shares: readonly number[]): Float64Array {
  const sums = new Float64Array(shares.length);
  let sum = 0;
  for (const [index, share] of shares.entries()) {
    sum += share;
    sums[index] = sum;
  }
  return sums;
}

/** The first whose bound is above the draw. */
function pick(bounds: Float64Array, draw: number): number {
  let [low, high] = [0, bounds.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((bounds[middle] ?? 0) > draw) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Knuth's: the expected numbers of a step are small. */
function poisson(expected: number, random: () => number): number {
  const bound = Math.exp(-expected);
  let [draws, product] = [0, random()];
  while (product > bound) {
    draws += 1;
    product *= random();
  }
  return draws;
}
