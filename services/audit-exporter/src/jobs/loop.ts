import type { Log } from '../log.ts';
import { errorFields } from '../log.ts';
import { createWakeup } from './wakeup.ts';

/** A job that repeats on a signal and on a timer until it is stopped. */
export interface Job {
  wake(): void;
  /** Lets the job do what is left, once, and resolves when it has ended. */
  stop(): Promise<void>;
  /** What the last pass failed with, and null while it works. */
  failure(): string | null;
}

export interface JobOptions {
  readonly name: string;
  readonly everyMs: number;
  /** Longest wait after failures; it doubles from 250 ms. */
  readonly mostBackoffMs: number;
  readonly log: Log;
  /** One pass. `true`: there may be more, go on at once. */
  readonly pass: () => Promise<boolean>;
}

/** Runs passes one at a time. A pass that fails is tried again for ever, ever more slowly. */
export function startJob({ name, everyMs, mostBackoffMs, log, pass }: JobOptions): Job {
  const wakeup = createWakeup();
  const backoff = createWakeup();
  let stopping = false;
  let failures = 0;
  let failure: string | null = null;

  const attempt = async (): Promise<'more' | 'idle' | 'failed'> => {
    try {
      const more = await pass();
      if (failures > 0) log('info', `${name} works again`, { failures });
      failures = 0;
      failure = null;
      return more ? 'more' : 'idle';
    } catch (error) {
      failures += 1;
      failure = errorFields(error).error;
      log('error', `${name} failed`, { failures, ...errorFields(error) });
      return 'failed';
    }
  };

  const run = async (): Promise<void> => {
    while (true) {
      // a stop that comes in the middle of a pass wants one more: the pass may have looked before the last entry came
      const last = stopping;
      const outcome = await attempt();
      if (outcome === 'more') continue;
      if (last) return;
      if (stopping && outcome === 'idle') continue;
      // a signal must not shorten a backoff: entries come all the time, and the sink is still away
      if (outcome === 'failed')
        await backoff.wait(Math.min(mostBackoffMs, 125 * 2 ** Math.min(failures, 16)));
      else await wakeup.wait(everyMs);
    }
  };

  const ended = run();
  return {
    wake: wakeup.wake,
    stop: () => {
      stopping = true;
      wakeup.wake();
      backoff.wake();
      return ended;
    },
    failure: () => failure,
  };
}
