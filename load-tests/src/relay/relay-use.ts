import { setTimeout as delay } from 'node:timers/promises';
import { cpuSeconds } from './process-use.ts';

/** What relaying takes of a processor. */
export interface RelayUse {
  /** While all streams were open, and none began or ended. */
  readonly secondsPerChunk: number;
  /** What a stream took beside its chunks: its checks, budget, usage row and audit entries, and its settling. Milliseconds. */
  readonly msPerStream: number;
}

/** Watches one process from now on. */
export interface UseWatch {
  /** Told at each change how many streams are open, and how many chunks have been read of all. */
  openNow(open: number, chunks: number): void;
  /** @throws when the streams were never all open */
  end(chunks: number): RelayUse;
}

/** How long a process that rests is looked at. Milliseconds. */
export const restMs = 10_000;

/**
 * Watches what a process takes for relaying so many streams. What it takes of a processor when none is open is taken off: a
 * dispatcher has a fleet to look after meanwhile, and nginx has not.
 */
export async function watchUse(pid: number, streams: number): Promise<UseWatch> {
  const rested = cpuSeconds(pid);
  await delay(restMs);
  const restingShare = (cpuSeconds(pid) - rested) / (restMs / 1_000);
  const from = performance.now();
  const before = cpuSeconds(pid);
  const taken = (): number => cpuSeconds(pid) - before - (restingShare * (performance.now() - from)) / 1_000;
  let full: { readonly seconds: number; readonly chunks: number } | null = null;
  let secondsPerChunk = Number.NaN;
  return {
    openNow: (open, chunks) => {
      if (open === streams) full = { seconds: taken(), chunks };
      else if (full !== null && Number.isNaN(secondsPerChunk))
        secondsPerChunk = (taken() - full.seconds) / (chunks - full.chunks);
    },
    end: (chunks) => {
      if (Number.isNaN(secondsPerChunk)) throw new Error('the streams were never all open at once');
      return { secondsPerChunk, msPerStream: ((taken() - secondsPerChunk * chunks) * 1_000) / streams };
    },
  };
}
