import type { IsLate } from '@lemniscate/shared/policy/command/judgement.ts';

/**
 * Longest judgement of one call's arguments, in the processor's time: while it lasts this process answers nobody. The
 * examples take 60 µs and the largest command that is read some tens of milliseconds; what takes longer was made to, and is
 * disabled. By the clock on the wall a machine under load, or a process that was stopped, refused ordinary calls.
 */
const judgementMs = 500;

/** @param processorMs time that the processor has spent on this thread */
export function lateAfter(processorMs: () => number): IsLate {
  const end = processorMs() + judgementMs;
  return () => processorMs() > end;
}
