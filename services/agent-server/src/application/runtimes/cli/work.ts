import type { RuntimeEnd } from '../runtime.ts';
import type { CutShort } from './cut-short.ts';
import { createLines } from './lines.ts';
import type { Lines } from './lines.ts';
import type { ProgramDesk, RunningProgram, VendorProgram } from './program.ts';
import { createQuietWatch } from './quiet-watch.ts';
import type { QuietWatch } from './quiet-watch.ts';
import type { StorePoint } from './store-point.ts';

/** One attempt's work: what is the same for all its processes. */
export interface CliWork extends ProgramDesk {
  readonly vendor: VendorProgram;
  readonly cutShort: CutShort;
  readonly storePoint: StorePoint;
  /** Aborted when a decision or a broken bound ends the session; `ended` then says how. */
  readonly over: AbortSignal;
  readonly ended: Promise<RuntimeEnd>;
}

/** A process and what we hear of it. */
export interface HeardProgram extends RunningProgram {
  readonly lines: Lines;
  readonly quiet: QuietWatch;
}

export async function startProgram(work: CliWork): Promise<HeardProgram> {
  work.usage.nextProcess();
  const program = await work.vendor.start(work);
  return {
    ...program,
    lines: createLines(program.cli),
    // Without a lease its processes stand still: nobody can say anything then.
    quiet: createQuietWatch(work.context, () => underWay(work) + (work.context.lease.valid() ? 0 : 1)),
  };
}

/** Everything that a program may be waiting for. */
const underWay = ({ port, calls, hosted }: Pick<ProgramDesk, 'port' | 'calls' | 'hosted'>): number =>
  port.open() + calls.open() + (hosted?.open() ?? 0);

/** Whether it stands: it waits for somebody, and nothing of it runs. */
export function stands({ port, calls, hosted }: ProgramDesk): boolean {
  const calling = calls.calling() + (hosted?.calling() ?? 0);
  const waiting = calls.open() + (hosted?.open() ?? 0) + port.held();
  return calling === 0 && waiting > 0 && port.exchanges() === port.held();
}

export function cancelAll({ calls, hosted }: Pick<ProgramDesk, 'calls' | 'hosted'>, message: string): void {
  calls.cancelAll(message);
  hosted?.cancelAll(message);
}
