import { setTimeout as delay } from 'node:timers/promises';
import { distribution, goalAtMost } from '../benchmark.ts';
import type { BenchIo, BenchOutcome, Benchmark } from '../benchmark.ts';
import { closedLoad } from '../dispatch/dispatch-load.ts';
import { openDispatchStage } from '../dispatch/dispatch-stage.ts';
import { cpuSeconds, residentKb } from '../relay/process-use.ts';

/** `LEMNISCATE_BENCH_SERVERS` makes a smaller run. */
const usualServers = 2_000;
const shape = { capacity: 2, heartbeatMs: 4_000 } as const;
const callers = 32;
/** How long the fleet is looked at while it has nothing to do. */
const lookMs = 20_000;

/** Thousands of simulated agent servers in one process, each with an address, a certificate and heartbeats of its own, on one dispatcher. */
export const serversBenchmark: Benchmark = {
  name: 'servers',
  about: `${usualServers} simulated agent servers in one process, and a session for every place that they have`,
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
  const servers = Number(io.environment['LEMNISCATE_BENCH_SERVERS'] ?? usualServers);
  const before = residentKb(process.pid);
  // Sessions end when their last place is taken: until then each fills one.
  const work = { kind: 'fixed', ms: 20 } as const;
  const stage = await openDispatchStage(io, parts, { work }, { ...shape, servers });
  const from = performance.now();
  const [dispatcher] = await stage.startDispatchers(1);
  if (dispatcher === undefined) throw new Error('no dispatcher');
  const joinedMs = performance.now() - from;
  io.say(`${servers} servers are in use after ${Math.round(joinedMs)} ms`);
  const perServerKb = (residentKb(process.pid) - before) / servers;

  const [restFrom, cpu] = [performance.now(), cpuSeconds(dispatcher.pid)];
  await delay(lookMs);
  const restMs = performance.now() - restFrom;
  const heartbeats = (servers * restMs) / shape.heartbeatMs;
  const heartbeatCpuMs = ((cpuSeconds(dispatcher.pid) - cpu) * 1_000) / heartbeats;

  stage.holdSessions();
  const places = servers * shape.capacity;
  const filled = await closedLoad(stage, [dispatcher], { sessions: places, callers });
  const fullest = stage.fleet.servers.map((server) => server.status().held.length);
  await stage.isIdle();
  const rows = await stage.database.query<{ ended: number }>(
    `SELECT count(*)::int AS ended FROM sessions WHERE id = ANY($1) AND state = 'completed'`,
    [filled.ids],
  );
  const completed = rows[0]?.ended ?? 0;
  io.say(`${completed} of ${places} sessions completed`);
  return {
    results: [
      { name: `until ${servers} servers were in use`, unit: 'ms', value: Math.round(joinedMs) },
      { name: 'memory of the simulation a server', unit: 'KB', value: Math.round(perServerKb) },
      { name: 'processor time of the dispatcher a heartbeat', unit: 'ms', value: heartbeatCpuMs },
      { name: 'orders while places were left', unit: 'sessions/s', value: Math.round(filled.perSecond) },
      distribution('sessions at a server when all places were taken', '', fullest),
    ],
    goals: [
      goalAtMost(
        'servers that a full fleet left a place at',
        '',
        0,
        fullest.filter((held) => held < shape.capacity).length,
      ),
      goalAtMost('sessions that did not complete', '', 0, places - completed),
    ],
  };
}
