import type { Clock } from '@lemniscate/shared/clock.ts';
import type { Held } from '@lemniscate/shared/protocol/identity.ts';
import type { SessionOrder } from '@lemniscate/shared/protocol/session-order.ts';
import type { PauseWish } from '../checkpoints/pause-wish.ts';
import type { Journal } from '../journal.ts';
import type { Lease } from '../lease.ts';
import type { Environments } from '../ports/environments.ts';
import type { Dispatcher } from '../ports/dispatcher.ts';
import type { JournalStore } from '../ports/journal-store.ts';
import type { Log } from '../ports/log.ts';
import type { Snapshots } from '../ports/snapshots.ts';
import type { ServeEgress } from '../ports/egress.ts';
import type { ObjectCache } from '../ports/object-cache.ts';
import type { PatchSpool, UploadObject } from '../ports/patch-spool.ts';
import type { WorkingCopies } from '../ports/working-copies.ts';
import type { Runtime } from '../runtimes/runtime.ts';
import type { TurnInterrupt } from '../runtimes/turn-interrupt.ts';
import type { WarmPool } from '../warm-pool.ts';
import type { Interruption } from './interruption.ts';
import type { SessionTraces } from './session-traces.ts';
import type { Stillness } from './stillness.ts';
import type { Timings } from './timings.ts';
import type { Unwind } from './unwind.ts';

/** What sessions are made of; built once by main. */
export interface SessionDeps {
  readonly pool: WarmPool;
  readonly workingCopies: WorkingCopies;
  readonly dispatcher: Dispatcher;
  readonly journals: JournalStore;
  readonly spool: PatchSpool;
  readonly snapshots: Snapshots;
  readonly environments: Environments;
  readonly uploadObject: UploadObject;
  readonly objectCache: ObjectCache;
  readonly runtimes: Readonly<Record<string, Runtime>>;
  readonly serveEgress: ServeEgress;
  readonly clock: Clock;
  /** See `RuntimeContext`. */
  readonly programQuietMs: number;
  readonly bootTimeMs: () => number;
  readonly log: Log;
  /** Null while nothing is traced. */
  readonly traces: SessionTraces | null;
}

/** One attempt while it runs: handed from step to step. */
export interface SessionContext {
  readonly deps: SessionDeps;
  readonly order: SessionOrder;
  readonly held: Held;
  readonly journal: Journal;
  readonly lease: Lease;
  readonly stillness: Stillness;
  readonly interruption: Interruption;
  readonly wish: PauseWish;
  readonly interrupt: TurnInterrupt;
  readonly timings: Timings;
  /** Sandbox and working copy; when it has run, the slot is free. */
  readonly unwind: Unwind;
}
