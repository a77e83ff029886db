import { goalAtMost } from '../benchmark.ts';
import type { BenchIo, BenchOutcome, Benchmark } from '../benchmark.ts';
import { closedLoad, openLoad } from '../dispatch/dispatch-load.ts';
import { openDispatchStage } from '../dispatch/dispatch-stage.ts';
import type { DispatchStage } from '../dispatch/dispatch-stage.ts';
import { cpuSeconds } from '../relay/process-use.ts';
import { openDrain } from './drain.ts';

/** `LEMNISCATE_BENCH_SESSIONS` makes a smaller run. */
const usualSessions = 1_200;
const callers = 32;
const warmUp = 300;
/** Below what one dispatcher bears, so that both kinds do the same work in the same time. */
const perSecond = 60;
/** Off and on in turn, and back: what drifts on the machine meets both alike. */
const rounds = [false, true, true, false, false, true, true, false] as const;
/** To reach: processor time with telemetry on over the same with it off. */
const mostCpu = 1.03;

/** What it costs the dispatcher's processor to send spans of every session and its metrics to a collector. */
export const telemetryBenchmark: Benchmark = {
  name: 'telemetry',
  about: 'processor time of the dispatch benchmark’s sessions with telemetry on, beside off',
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
  const stage = await openDispatchStage(io, parts);
  const drain = await openDrain();
  parts.defer(drain.close);
  const spent = { off: 0, on: 0 };
  for (const on of rounds) {
    const seconds = await oneRound(stage, on ? { OTEL_EXPORTER_OTLP_ENDPOINT: drain.url } : {}, sessions);
    spent[on ? 'on' : 'off'] += seconds;
    io.say(`telemetry ${on ? 'on ' : 'off'}: ${((seconds * 1_000) / sessions).toFixed(2)} ms a session`);
  }
  if (drain.spanBytes() === 0) throw new Error('the collector got no spans: the comparison says nothing');
  const all = (sessions * rounds.length) / 2;
  const perSession = (seconds: number) => Math.round((seconds * 100_000) / all) / 100;
  return {
    results: [
      { name: 'processor time a session, telemetry off', unit: 'ms', value: perSession(spent.off) },
      { name: 'processor time a session, telemetry on', unit: 'ms', value: perSession(spent.on) },
      { name: 'spans sent a session', unit: 'bytes', value: Math.round(drain.spanBytes() / all) },
    ],
    goals: [
      goalAtMost(
        'processor time with telemetry on over off',
        'times',
        mostCpu,
        Math.round((spent.on / spent.off) * 1_000) / 1_000,
      ),
    ],
  };
}

/** @returns seconds of processor time that a fresh dispatcher, warmed up, spends on the sessions */
async function oneRound(
  stage: DispatchStage,
  environment: Readonly<Record<string, string>>,
  sessions: number,
): Promise<number> {
  const [dispatcher] = await stage.startDispatchers(1, environment);
  if (dispatcher === undefined) throw new Error('no dispatcher');
  await closedLoad(stage, [dispatcher], { sessions: warmUp, callers });
  await stage.isIdle();
  const before = cpuSeconds(dispatcher.pid);
  await openLoad(stage, [dispatcher], { sessions, perSecond });
  await stage.isIdle();
  const seconds = cpuSeconds(dispatcher.pid) - before;
  await dispatcher.stop();
  return seconds;
}
