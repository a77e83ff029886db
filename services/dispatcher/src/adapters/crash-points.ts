import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import {
  aroundCalls,
  bornLine,
  crashPlanSchema,
  createCrashPoint,
  seedOfLife,
} from '@lemniscate/shared/crash-points.ts';
import type { CrashPoint, PointsOf } from '@lemniscate/shared/crash-points.ts';
import { seededRandom } from '@lemniscate/shared/seeded-random.ts';
import type { LiveEvents } from '../application/ports/live-events.ts';
import type { ModelProvider } from '../application/ports/model-provider.ts';
import type { Notifier } from '../application/ports/notifier.ts';
import type { ObjectStore } from '../application/ports/object-store.ts';
import type { ProviderRoom, SharedRooms } from '../application/ports/provider-room.ts';
import type { Reservations } from '../application/ports/reservations.ts';
import type { ServerLines } from '../application/ports/server-lines.ts';
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
  const livesBefore = existsSync(plan.log) ? readFileSync(plan.log, 'utf8') : '';
  appendFileSync(plan.log, `${bornLine}\n`);
  return createCrashPoint(() => plan, {
    random: seededRandom(seedOfLife(plan.seed, livesBefore)),
    tell: (line) => appendFileSync(plan.log, `${line}\n`),
    die: () => void process.kill(process.pid, 'SIGKILL'),
  });
}

const computed = 'an address is computed here, and nobody is called';
const atStop = 'ends what this process holds; nothing is promised of it';

const queuePoints = {
  add: true,
  missing: true,
  waiting: true,
  work: 'begins a worker; what a job does has points of its own',
  serve: 'begins a worker; what a job does has points of its own',
  close: atStop,
} as const satisfies PointsOf<RunningPlacementQueue>;
const reservationPoints = {
  reserve: true,
  release: true,
  renew: true,
  correct: true,
  isWhole: true,
  rebuild: true,
  withdraw: true,
  fill: true,
  running: true,
  freeSlots: true,
  pack: true,
} as const satisfies PointsOf<Reservations>;
const livePoints = {
  publish: true,
  subscribe: 'only listens, and readers catch up from the record',
} as const satisfies PointsOf<LiveEvents>;
const linePoints = { ask: true, next: true, answer: true } as const satisfies PointsOf<ServerLines>;
const roomPoints = { take: true, give: true } as const satisfies PointsOf<ProviderRoom>;
const objectPoints = {
  put: true,
  get: true,
  remove: true,
  size: true,
  adopt: true,
  presignPut: computed,
  presignGet: computed,
} as const satisfies PointsOf<ObjectStore>;
const serverPoints = {
  place: true,
  destroy: true,
  pause: true,
  interrupt: true,
  probe: true,
  close: atStop,
} as const satisfies PointsOf<AgentServerClient>;
const providerPoints = { send: true } as const satisfies PointsOf<ModelProvider>;
const notifierPoints = { send: true, close: atStop } as const satisfies PointsOf<Notifier>;

/** What reaches outside a dispatcher, by kind; without a point each comes back as it is. */
export function crashPointsAround(point: CrashPoint | null) {
  const around = <Port extends object>(
    prefix: string,
    port: Port,
    points: Readonly<Record<string, true | string>>,
  ): Port => (point === null ? port : aroundCalls(point, prefix, port, points));
  const rooms =
    (shared: SharedRooms): SharedRooms =>
    (provider, limits) =>
      around('redis room', shared(provider, limits), roomPoints);
  const notifiers = <Named extends Readonly<Record<string, Notifier>>>(named: Named): Named =>
    Object.fromEntries(
      Object.entries(named).map(([name, notifier]) => [
        name,
        around('http notify', notifier, notifierPoints),
      ]),
    ) as Named;
  return {
    database: (database: PostgresDatabase) => (point === null ? database : withCrashPoints(database, point)),
    queue: (queue: RunningPlacementQueue) => around('redis queue', queue, queuePoints),
    reservations: (ledger: Reservations) => around('redis ledger', ledger, reservationPoints),
    live: <Live extends LiveEvents>(live: Live) => around<Live>('redis live', live, livePoints),
    lines: <Lines extends ServerLines>(lines: Lines) => around<Lines>('redis line', lines, linePoints),
    rooms,
    objects: <Objects extends ObjectStore>(objects: Objects) =>
      around<Objects>('http store', objects, objectPoints),
    servers: (servers: AgentServerClient) => around('http server', servers, serverPoints),
    provider: (provider: ModelProvider) => around('http model', provider, providerPoints),
    notifiers,
  };
}
