import { auditBenchmark } from './audit/audit-benchmark.ts';
import { balanceBenchmark } from './balance/balance-benchmark.ts';
import type { Benchmark } from './benchmark.ts';
import { consoleBenchmark } from './console/console-benchmark.ts';
import { costsBenchmark } from './costs/costs-benchmark.ts';
import { permitBenchmark } from './governance/permit-benchmark.ts';
import { stopBenchmark } from './governance/stop-benchmark.ts';
import { dispatchBenchmark } from './dispatch/dispatch-benchmark.ts';
import { judgeBenchmark } from './judge/judge-benchmark.ts';
import { readersBenchmark } from './readers/readers-benchmark.ts';
import { relayBenchmark } from './relay/relay-benchmark.ts';
import { sandboxBenchmark } from './sandbox/sandbox-benchmark.ts';
import { serversBenchmark } from './servers/servers-benchmark.ts';
import { sessionBenchmark } from './session/session-benchmark.ts';
import { startBenchmark } from './start/start-benchmark.ts';
import { syncBenchmark } from './sync/sync-benchmark.ts';
import { telemetryBenchmark } from './telemetry/telemetry-benchmark.ts';
import { workingCopyBenchmark } from './working-copy/working-copy-benchmark.ts';

/** Every benchmark, one line each; `npm run bench` without a name runs them in this order. */
export const benchmarks: readonly Benchmark[] = [
  startBenchmark,
  workingCopyBenchmark,
  syncBenchmark,
  sessionBenchmark,
  sandboxBenchmark,
  judgeBenchmark,
  permitBenchmark,
  stopBenchmark,
  auditBenchmark,
  relayBenchmark,
  costsBenchmark,
  dispatchBenchmark,
  telemetryBenchmark,
  readersBenchmark,
  serversBenchmark,
  balanceBenchmark,
  consoleBenchmark,
];
