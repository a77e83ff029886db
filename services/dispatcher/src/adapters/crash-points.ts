import { appendFileSync, readFileSync } from 'node:fs';
import { aroundCalls, crashPlanSchema, createCrashPoint } from '@lemniscate/shared/crash-points.ts';
import type { CrashPoint } from '@lemniscate/shared/crash-points.ts';
import { seededRandom } from '@lemniscate/shared/seeded-random.ts';
import type { LiveEvents } from '../application/ports/live-events.ts';
import type { ModelProvider } from '../application/ports/model-provider.ts';
import type { ObjectStore } from '../application/ports/object-store.ts';
import type { Reservations } from '../application/ports/reservations.ts';
import type { AgentServerClient } from './agent-server-client.ts';
import { withCrashPoints } from './postgres/crash-points.ts';
import type { PostgresDatabase } from './postgres/database.ts';
import type { RunningPlacementQueue } from './queue/placement-queue.ts';

/** A plan may change: it is looked at this often. Milliseconds. */
const lookMs = 250;

/**
 * Reads the plan of LEMNISCATE_CRASH_POINTS, again and again; null where there is none, and then nothing is wrapped.
 * @throws where the file is no plan
 */
export function readCrashPoint(file: string | undefined): CrashPoint | null {
  if (file === undefined) return null;
  const read = () => crashPlanSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  let plan = read();
  setInterval(() => {
    plan = read();
  }, lookMs).unref();
  return createCrashPoint(() => plan, {
    // Another life, another place: the same seed alone would die at the same hit each time.
    random: seededRandom(plan.seed + process.pid),
    tell: (line) => appendFileSync(plan.log, `${line}\n`),
    die: () => void process.kill(process.pid, 'SIGKILL'),
  });
}

/** What reaches outside a dispatcher, by kind; without a point each comes back as it is. */
export function crashPointsAround(point: CrashPoint | null) {
  const around = <Port extends object>(
    prefix: string,
    port: Port,
    methods: readonly (keyof Port & string)[],
  ): Port => (point === null ? port : aroundCalls(point, prefix, port, methods));
  return {
    database: (database: PostgresDatabase) => (point === null ? database : withCrashPoints(database, point)),
    queue: (queue: RunningPlacementQueue) => around('redis queue', queue, ['add', 'missing', 'waiting']),
    reservations: (ledger: Reservations) =>
      around('redis ledger', ledger, [
        'reserve',
        'release',
        'renew',
        'correct',
        'isWhole',
        'rebuild',
        'withdraw',
        'fill',
        'running',
        'freeSlots',
        'pack',
      ]),
    live: <Live extends LiveEvents>(live: Live) => around('redis live', live, ['publish']),
    objects: <Objects extends ObjectStore>(objects: Objects) =>
      around('http store', objects, ['put', 'get', 'remove', 'size', 'adopt']),
    servers: (servers: AgentServerClient) =>
      around('http server', servers, ['place', 'destroy', 'pause', 'probe']),
    provider: (provider: ModelProvider) => around('http model', provider, ['send']),
  };
}
