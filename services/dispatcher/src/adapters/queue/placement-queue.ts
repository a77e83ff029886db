import { DelayedError, Queue, Worker } from 'bullmq';
import type { Job } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Log } from '../../application/ports/log.ts';
import type { PlacementJob, PlacementQueue } from '../../application/ports/placement-queue.ts';
import { callerOptions, retryStrategy, workerOptions } from '../redis/connection.ts';

/** What a worker makes of a job: done with it, or look again later with these notes. */
export type PlacementOutcome =
  | { readonly again: false }
  | { readonly again: true; readonly delayMs: number; readonly failures: readonly string[] };

/** @param started how often this job has begun before, for growing delays */
export type PlaceJob = (
  job: PlacementJob,
  failures: readonly string[],
  started: number,
) => Promise<PlacementOutcome>;

export interface PlacementQueueOptions {
  readonly url: URL;
  /** A connection for reads beside BullMQ's own. */
  readonly redis: Redis;
  readonly prefix: string;
  readonly pools: readonly string[];
  readonly log: Log;
  /** Sessions that one dispatcher places at the same time, per pool. */
  readonly concurrency: number;
}

/** A queue that also runs its jobs. */
export interface RunningPlacementQueue extends PlacementQueue {
  work(place: PlaceJob): void;
  /** May be called again. Stops taking jobs, waits for the running ones at most this long, and lets go of Redis in any case. */
  close(timeoutMs: number): Promise<void>;
}

interface JobData {
  readonly sessionId: string;
  readonly generation: number;
  /** Sentences on servers that failed to take it. */
  readonly failures: readonly string[];
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
  const queues = new Map<string, Queue<JobData>>();
  const workers: Worker<JobData>[] = [];
  let closing: Promise<void> | null = null;
  // BullMQ's close() waits for a Redis that is away and cannot be hurried: it ends with its connections, and those end
  // when they may not come back.
  const reconnects = { retryStrategy: (times: number) => (closing === null ? retryStrategy(times) : null) };
  for (const pool of options.pools) {
    const queue = new Queue<JobData>(queueName(pool), {
      prefix,
      connection: { url: options.url.href, ...callerOptions, ...reconnects },
      // Retries are the record's business; nothing is kept, for a retained id would swallow its re-add.
      defaultJobOptions: { attempts: 1, removeOnComplete: true, removeOnFail: true },
      streams: { events: { maxLen: 1_000 } },
    });
    queue.on('error', onError);
    queues.set(pool, queue);
  }
  const queueOf = (pool: string): Queue<JobData> => {
    const queue = queues.get(pool);
    if (queue === undefined) throw new Error(`there is no queue for pool ${pool}`);
    return queue;
  };

  return {
    add: async (pool, jobs) => {
      if (jobs.length === 0) return;
      await queueOf(pool).addBulk(
        jobs.map((job) => ({
          name: 'place',
          data: { ...job, failures: [] },
          opts: { jobId: jobId(job) },
        })),
      );
    },
    missing: async (pool, jobs) => {
      const queue = queueOf(pool);
      const found = await Promise.all(jobs.map((job) => options.redis.exists(queue.toKey(jobId(job)))));
      return jobs.filter((_, index) => found[index] === 0);
    },
    promote: async (pool, jobs) => {
      const queue = queueOf(pool);
      await Promise.all(
        jobs.map(async (job) => {
          const found: Job<JobData> | undefined = await queue.getJob(jobId(job));
          if (found === undefined || !(await found.isDelayed())) return;
          await found.promote().catch((error: unknown) => {
            // Its own time came between the look and the call: it runs, which is what was wanted.
            log.debug({ err: error, job: jobId(job) }, 'a job was promoted that no longer waits');
          });
        }),
      );
    },
    work: (place) => {
      for (const pool of options.pools) {
        const worker = new Worker<JobData>(queueName(pool), (job, token) => run(job, token, place), {
          prefix,
          connection: { url: options.url.href, ...workerOptions, ...reconnects },
          concurrency: options.concurrency,
          lockDuration: lockMs,
          stalledInterval: lockMs / 2,
          // A dispatcher that crashes on a job again and again must not make the job fail: the record ends sessions.
          maxStalledCount: 1_000,
        });
        worker.on('error', onError);
        worker.on('failed', (job, error) =>
          log.error(
            { err: error, job: job?.id, component: 'queue' },
            'a placement failed; the record repeats it',
          ),
        );
        workers.push(worker);
      }
    },
    close: (timeoutMs) => (closing ??= closeAll(options.redis, [...queues.values()], workers, timeoutMs)),
  };
}

/**
 * A worker that is closed in peace waits for its jobs and for its blocking read. While Redis is away that read never
 * returns and a second, forced close is not heard, so it has to be known beforehand.
 */
async function closeAll(
  redis: Redis,
  queues: readonly Queue<JobData>[],
  workers: readonly Worker<JobData>[],
  timeoutMs: number,
): Promise<void> {
  const isAway = redis.status !== 'ready' || !(await within(redis.ping(), 500));
  await within(Promise.all(workers.map((worker) => worker.close(isAway))), timeoutMs);
  await within(Promise.all(queues.map((queue) => queue.close())), 2_000);
}

function queueName(pool: string): string {
  return `placement-${pool}`;
}

function jobId(job: PlacementJob): string {
  return `${job.sessionId}-g${job.generation}`;
}

async function run(job: Job<JobData>, token: string | undefined, place: PlaceJob): Promise<void> {
  const { sessionId, generation, failures } = job.data;
  const outcome = await place({ sessionId, generation }, failures, job.attemptsStarted);
  if (!outcome.again) return;
  if (outcome.failures.length > failures.length)
    await job.updateData({ sessionId, generation, failures: outcome.failures });
  await job.moveToDelayed(Date.now() + outcome.delayMs, token);
  throw new DelayedError();
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
