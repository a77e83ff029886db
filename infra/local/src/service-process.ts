import { setTimeout as sleep } from 'node:timers/promises';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { startProcess } from './process/managed-process.ts';
import type { ManagedProcess, ProcessEnd, ProcessPlan } from './process/managed-process.ts';

/** A service that is started again when it crashes. */
export interface SupervisedService {
  readonly name: string;
  /** Pid of the running process; undefined between a crash and the restart. */
  pid(): number | undefined;
  /** How often it was started again. */
  restarts(): number;
  /** Settles with the error when it crashes faster than it can be restarted; stays open otherwise. */
  readonly gaveUp: Promise<CodedError>;
  stop(): Promise<void>;
}

/** When a crashing service is given up, and how long the pauses before its restarts are. */
export interface RestartBounds {
  /** This many crashes within `windowMs` end it. */
  readonly crashes: number;
  readonly windowMs: number;
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
}

const defaultBounds: RestartBounds = {
  crashes: 5,
  windowMs: 60_000,
  firstPauseMs: 100,
  longestPauseMs: 5_000,
};

/**
 * Starts a service and keeps it running until `stop`.
 * @throws CodedError `service_unreachable` when the first start fails: nothing is left running then
 */
export async function superviseService(
  plan: ProcessPlan,
  say: (line: string) => void,
  bounds: RestartBounds = defaultBounds,
): Promise<SupervisedService> {
  let current: ManagedProcess | undefined = await startProcess(plan);
  let restarts = 0;
  const stopping = new AbortController();
  const gaveUp = Promise.withResolvers<CodedError>();

  const keepRunning = async (): Promise<void> => {
    let crashes: number[] = [];
    for (let process = current; process !== undefined;) {
      const end = await process.ended;
      current = undefined;
      if (stopping.signal.aborted) return;
      const lines = process.lastLines();
      process = undefined;
      while (process === undefined) {
        crashes = [...crashes, Date.now()].filter((at) => at > Date.now() - bounds.windowMs);
        say(`${plan.name} ${endText(end)}; restart ${restarts + 1}`);
        if (crashes.length >= bounds.crashes) return gaveUp.resolve(crashLoop(plan, crashes.length, lines));
        await pauseBefore(crashes.length, bounds, stopping.signal);
        if (stopping.signal.aborted) return;
        restarts += 1;
        process = await restart(plan, say);
      }
      current = process;
      if (stopping.signal.aborted) return process.stop();
    }
  };
  const loop = keepRunning();
  return {
    name: plan.name,
    pid: () => current?.pid,
    restarts: () => restarts,
    gaveUp: gaveUp.promise,
    stop: async () => {
      stopping.abort();
      await current?.stop();
      await loop;
    },
  };
}

async function restart(plan: ProcessPlan, say: (line: string) => void): Promise<ManagedProcess | undefined> {
  try {
    return await startProcess(plan);
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    say(error.message);
    return undefined;
  }
}

async function pauseBefore(crashes: number, bounds: RestartBounds, stopped: AbortSignal): Promise<void> {
  const pauseMs = Math.min(bounds.firstPauseMs * 2 ** (crashes - 1), bounds.longestPauseMs);
  try {
    await sleep(pauseMs, undefined, { signal: stopped });
  } catch (error) {
    if ((error as Error).name !== 'AbortError') throw error;
  }
}

function endText(end: ProcessEnd): string {
  return end.signal === null ? `ended with code ${end.code}` : `was ended by ${end.signal}`;
}

function crashLoop(plan: ProcessPlan, crashes: number, lines: readonly string[]): CodedError {
  return new CodedError(
    'service_unreachable',
    `${plan.name} crashed ${crashes} times in a short while and is given up. Its log is ${plan.logFile}; its last lines:\n${lines.map((line) => `  ${line}`).join('\n')}`,
    { service: plan.name, crashes, log: plan.logFile },
  );
}
