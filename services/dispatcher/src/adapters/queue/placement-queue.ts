import { Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Log } from '../../application/ports/log.ts';
import type { PlacementJob, PlacementQueue, ReservedJob } from '../../application/ports/placement-queue.ts';
import { redisAddress } from '../redis/address.ts';
import { callerOptions, retryStrategy, workerOptions } from '../redis/connection.ts';
import { writeOnceATurn } from '../redis/one-write.ts';

export type PlaceJob = (job: ReservedJob) => Promise<void>;

export interface PlacementQueueOptions {
  readonly url: URL;
  /** A connection for reads beside BullMQ's own. */
  readonly redis: Redis;
  readonly prefix: string;
  /** Pools that are served from the start; others get a queue when something is queued or awaited there. */
  readonly pools: readonly string[];
  readonly log: Log;
  /** Sessions that one dispatcher places at the same time, per pool. */
  readonly concurrency: number;
}

/** A queue that also runs its jobs. */
export interface RunningPlacementQueue extends PlacementQueue {
  /** Runs jobs of every pool that has a queue, now or later. */
  work(place: PlaceJob): void;
  /** Serves a pool that servers have joined. Repeating it does nothing. */
  serve(pool: string): void;
  /** May be called again. Stops taking jobs, waits for the running ones at most this long, and lets go of Redis in any case. */
  close(timeoutMs: number): Promise<void>;
}

/**
 * A placement lasts seconds; a dispatcher that dies holding one gives it up after this long. BullMQ's own half a
 * minute would be the longest wait of all.
 */
const lockMs = 10_000;

/** Placement jobs in BullMQ, one queue a pool. Only delivery: whatever is lost here is found again in the record. */
export function createPlacementQueue(options: PlacementQueueOptions): RunningPlacementQueue {
  const { prefix, log } = options;
  const onError = (error: Error): void =>
    log.warn({ err: error, component: 'queue' }, 'the queue has trouble');
  const queues = new Map<string, Queue<ReservedJob>>();
  const workers: Worker<ReservedJob>[] = [];
  let closing: Promise<void> | null = null;
  // BullMQ's close() waits for a Redis that is away and cannot be hurried: it ends with its connections, and those end
  // when they may not come back.
  const reconnects = { retryStrategy: (times: number) => (closing === null ? retryStrategy(times) : null) };
  let placing: PlaceJob | null = null;
  const startWorker = (pool: string, place: PlaceJob): void => {
    const worker = new Worker<ReservedJob>(queueName(pool), (job) => place(job.data), {
      prefix,
      connection: { ...redisAddress(options.url), ...workerOptions, ...reconnects },
      concurrency: options.concurrency,
      lockDuration: lockMs,
      stalledInterval: lockMs / 2,
      // A dispatcher that crashes on a job again and again must not make the job fail: the record ends sessions.
      maxStalledCount: 1_000,
    });
    worker.on('error', onError);
    joinWrites(worker);
    worker.on('failed', (job, error) =>
      log.error(
        { err: error, job: job?.id, component: 'queue' },
        'a placement failed; the record repeats it',
      ),
    );
    workers.push(worker);
  };
  const queueOf = (pool: string): Queue<ReservedJob> => {
    const known = queues.get(pool);
    if (known !== undefined) return known;
    const queue = new Queue<ReservedJob>(queueName(pool), {
      prefix,
      connection: { ...redisAddress(options.url), ...callerOptions, ...reconnects },
      // Retries are the record's business; nothing is kept, for a retained id would swallow its re-add.
      defaultJobOptions: { attempts: 1, removeOnComplete: true, removeOnFail: true },
      streams: { events: { maxLen: 1_000 } },
    });
    queue.on('error', onError);
    joinWrites(queue);
    queues.set(pool, queue);
    if (placing !== null && closing === null) startWorker(pool, placing);
    return queue;
  };
  for (const pool of options.pools) queueOf(pool);

  return {
    add: async (pool, jobs) => {
      if (jobs.length === 0) return;
      await queueOf(pool).addBulk(
        jobs.map((job) => ({
          name: 'place',
          data: job,
          opts: { jobId: jobId(job) },
        })),
      );
    },
    missing: async (pool, jobs) => {
      const queue = queueOf(pool);
      const found = await Promise.all(jobs.map((job) => options.redis.exists(queue.toKey(jobId(job)))));
      return jobs.filter((_, index) => found[index] === 0);
    },
    waiting: (pool) => options.redis.llen(queueOf(pool).toKey('wait')),
    work: (place) => {
      placing = place;
      for (const pool of queues.keys()) startWorker(pool, place);
    },
    serve: (pool) => void queueOf(pool),
    close: (timeoutMs) => (closing ??= closeAll(options.redis, [...queues.values()], workers, timeoutMs)),
  };
}

/**
 * A worker that is closed in peace waits for its jobs and for its blocking read. While Redis is away that read never
 * returns and a second, forced close is not heard, so it has to be known beforehand.
 */
async function closeAll(
  redis: Redis,
  queues: readonly Queue<ReservedJob>[],
  workers: readonly Worker<ReservedJob>[],
  timeoutMs: number,
): Promise<void> {
  const isAway = redis.status !== 'ready' || !(await within(redis.ping(), 500));
  await within(Promise.all(workers.map((worker) => worker.close(isAway))), timeoutMs);
  await within(Promise.all(queues.map((queue) => queue.close())), 2_000);
}

/** Adds and ends of jobs that fall together travel together. One that was closed before it was connected needs it no more. */
function joinWrites({ backend }: Pick<Queue<ReservedJob> | Worker<ReservedJob>, 'backend'>): void {
  backend.connection.client.then(
    // BullMQ shows ioredis' own object, by a proxy.
    (client) => writeOnceATurn(client as unknown as Redis),
    () => undefined,
  );
}

function queueName(pool: string): string {
  return `placement-${pool}`;
}

function jobId(job: PlacementJob): string {
  return `${job.sessionId}-g${job.generation}`;
}

/** @returns whether the work was done, and well, in time */
async function within(work: Promise<unknown>, ms: number): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), ms);
  const done = work.then(
    () => true,
    () => false,
  );
  return Promise.race([done, late]).finally(() => clearTimeout(timer));
}
