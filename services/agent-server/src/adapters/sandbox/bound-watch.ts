import type {
  SandboxCounters,
  SandboxEndCause,
  SandboxProfile,
} from '../../application/ports/sandbox-driver.ts';

/** The bounds whose breaking ends a sandbox. */
export type BrokenBound = Extract<SandboxEndCause, `sandbox_${string}` | 'unwatched'>;

/** Looks at the kernel's counters of one sandbox: on a timer while it may work, and when a command has ended. */
export interface BoundWatch {
  /** Begins with the first command; a sandbox that nobody has used yet breaks no bound. */
  start(): void;
  /** Looks now. Null while every bound holds. */
  look(): Promise<BrokenBound | null>;
  /** What was seen so far. */
  broken(): BrokenBound | null;
  /** Settles when a bound is seen broken; never otherwise. */
  readonly whenBroken: Promise<void>;
  stop(): void;
}

/** A look reads four small files and asks for one statfs: 0.2 ms, once a second for each working sandbox. */
const lookEveryMs = 1_000;

/** One look may fail of a machine that has no descriptor left; so many in a row mean that nobody watches any more. */
const unreadableLooks = 5;

/** Less than this left is full: whoever was refused may have left a block or two. */
const fullBytes = 256 * 1024;

/**
 * The first bound that the counters show to be broken. A fork that the kernel refused and a process that it killed do
 * not come back, so they count once; a disk counts while it is full, since a writer that was refused and cleaned up
 * after itself has harmed nobody.
 */
export function brokenBound(
  { cpuSeconds }: Pick<SandboxProfile, 'cpuSeconds'>,
  counters: SandboxCounters | null,
): BrokenBound | null {
  if (counters === null) return null;
  if ((counters.memoryKills ?? 0) > 0) return 'sandbox_memory';
  if ((counters.processRefusals ?? 0) > 0) return 'sandbox_processes';
  if ((counters.cpuMs ?? 0) > cpuSeconds * 1000) return 'sandbox_cpu';
  const { diskLeftBytes, diskLeftFiles } = counters;
  if (diskLeftBytes !== null && diskLeftBytes < fullBytes) return 'sandbox_disk';
  return diskLeftFiles === 0 ? 'sandbox_disk' : null;
}

/**
 * @param onSign tells when the kernel has counted something, so that a sandbox which dies of it is looked at before its
 * counters go with it; the timer stays for what has no sign and for signs that are missed
 */
export function createBoundWatch(
  profile: Pick<SandboxProfile, 'cpuSeconds'>,
  counters: () => Promise<SandboxCounters | null>,
  onSign: (listener: () => void) => () => void = () => () => undefined,
): BoundWatch {
  let seen: BrokenBound | null = null;
  let timer: NodeJS.Timeout | undefined;
  let closeSign: () => void = () => undefined;
  let stopped = false;
  let unreadable = 0;
  const { promise: whenBroken, resolve } = Promise.withResolvers<void>();

  const look = async (): Promise<BrokenBound | null> => {
    if (stopped || seen !== null) return seen;
    try {
      const counted = await counters();
      unreadable = 0;
      // gone with its sandbox, whose end tells itself
      seen ??= brokenBound(profile, counted);
    } catch {
      unreadable += 1;
      if (unreadable >= unreadableLooks && !stopped) seen ??= 'unwatched';
    }
    if (seen !== null) resolve();
    return seen;
  };

  return {
    start() {
      if (stopped || timer !== undefined) return;
      timer = setInterval(() => void look(), lookEveryMs).unref();
      closeSign = onSign(() => void look());
    },
    look,
    broken: () => seen,
    whenBroken,
    stop() {
      stopped = true;
      clearInterval(timer);
      closeSign();
    },
  };
}
