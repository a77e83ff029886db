import type { RuntimeEnd } from '../runtime.ts';
import { endWithoutResult } from './program-end.ts';
import type { DiedEnd } from './program-end.ts';
import { stands } from './work.ts';
import type { CliWork, HeardProgram } from './work.ts';

/** Why listening to a program comes to an end. */
export type News =
  | { readonly kind: 'answered'; readonly end: RuntimeEnd }
  | { readonly kind: 'died'; readonly end: DiedEnd }
  /** A decision or a broken bound ends the session. */
  | { readonly kind: 'over' }
  | { readonly kind: 'interrupt' }
  | { readonly kind: 'pause' }
  | { readonly kind: 'store' };

/** How often a program is looked at that says nothing; and one that is to be paused as soon as it stands. Milliseconds. */
const lookMs = 2000;
const standsSoonMs = 100;

/** Listens until the program has answered, has died, or has to be cut short. */
export async function listen(work: CliWork, program: HeardProgram): Promise<News> {
  const { context, storePoint, over } = work;
  const { interrupt, checkpoints } = context;
  for (;;) {
    context.signal.throwIfAborted();
    if (over.aborted) return { kind: 'over' };
    const wish = checkpoints.wish.signal();
    const urgent = checkpoints.wish.urgentSignal();
    if (interrupt.signal().aborted) return { kind: 'interrupt' };
    if (urgent.aborted || (wish.aborted && stands(work))) return { kind: 'pause' };
    if (storePoint.signal().aborted) return { kind: 'store' };
    if (program.quiet.hangs()) return { kind: 'died', end: hung(work) };
    const arrived = await program.lines.arrived(
      [
        context.signal,
        over,
        urgent,
        interrupt.signal(),
        storePoint.signal(),
        ...(wish.aborted ? [] : [wish]),
      ],
      wish.aborted ? standsSoonMs : Math.min(lookMs, context.programQuietMs),
    );
    if (!arrived) continue;
    const news = await hear(work, program);
    if (news !== null) return news;
  }
}

/** Takes the line that has arrived. */
async function hear(work: CliWork, program: HeardProgram): Promise<News | null> {
  program.quiet.heard();
  const line = await program.lines.take();
  if (line === null) {
    const end = await endWithoutResult(work.vendor.title, program.cli, work.port);
    work.context.signal.throwIfAborted();
    return 'again' in end ? { kind: 'died', end } : { kind: 'answered', end };
  }
  const end = await program.take(line);
  return end === null ? null : { kind: 'answered', end };
}

function hung({ vendor, context }: CliWork): DiedEnd {
  const seconds = Math.round(context.programQuietMs / 1000);
  return {
    reason: 'runtime_failed',
    message: `${vendor.title} has said nothing for ${seconds} seconds, and nothing was under way.`,
    again: true,
  };
}

/** Takes its lines until it has answered. Null: it did not in time, or has ended. */
export async function settles(
  work: CliWork,
  program: HeardProgram,
  withinMs: number,
): Promise<RuntimeEnd | null> {
  const signal = AbortSignal.any([AbortSignal.timeout(withinMs), work.context.signal]);
  while (!signal.aborted) {
    if (!(await program.lines.arrived([signal], withinMs))) continue;
    const news = await hear(work, program);
    if (news !== null) return news.kind === 'answered' ? news.end : null;
  }
  return null;
}
