import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '@lemniscate/shared/clock.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { NewId } from '@lemniscate/shared/id.ts';
import { sandboxTransitions } from '@lemniscate/shared/sandbox/state.ts';
import type { SandboxState } from '@lemniscate/shared/sandbox/state.ts';
import { checkTransition } from '@lemniscate/shared/transition-table.ts';
import { createBackoff } from './backoff.ts';
import type { Log } from './ports/log.ts';
import type { Sandbox, SandboxDriver, SandboxProfile } from './ports/sandbox-driver.ts';

/** One sandbox of the pool from its boot until it is seen gone; its states follow the sandbox table. */
export interface PoolMember {
  readonly id: string;
  readonly profile: SandboxProfile;
  /** What the driver said that it is made of; null before the boot began. */
  fingerprint(): string | null;
  /** Monotonic milliseconds of when it became warm. */
  warmSinceMs(): number;
  state(): SandboxState;
  /** Who the sandbox is meant for: a claim, once made, cannot be taken back. */
  awaitedBy(): 'pool' | 'session';
  /** A session waits for this boot. */
  await(): void;
  /** Settles with the boot. */
  readonly ready: Promise<void>;
  /** @throws CodedError `transition_refused` unless it is warm */
  claim(): Sandbox;
  /** The handle; there is none before `ready`. */
  sandbox(): Sandbox;
  /** Resolves when the sandbox is verified to be gone; repeats until then. Idempotent. */
  destroy(): Promise<void>;
}

export function createPoolMember(
  deps: { readonly driver: SandboxDriver; readonly newId: NewId; readonly clock: Clock; readonly log: Log },
  profile: SandboxProfile,
  purpose: 'pool' | 'session',
  onGone: () => void,
): PoolMember {
  const id = deps.newId('sandbox');
  let state: SandboxState = 'booting';
  let awaitedBy = purpose;
  let sandbox: Sandbox | null = null;
  let destroying: Promise<void> | null = null;

  const become = (next: SandboxState) => {
    state = checkTransition(sandboxTransitions, state, next, `sandbox ${id}`);
  };

  const begun = deps.clock.monotonicMs();
  let fingerprint: string | null = null;
  let warmSince = begun;
  const booted = bootAsSeen().then(
    (live) => {
      sandbox = live;
      void live.ended.then(onEnded);
    },
    (error: unknown) => {
      if (state === 'booting') become('broken');
      // A driver that fails to boot cleans up after itself; there is no handle to destroy.
      gone();
      throw error;
    },
  );
  const ready = booted.then(async () => {
    if (sandbox !== null && awaitedBy === 'pool') await rehearse(sandbox);
    if (state === 'booting') become('warm');
    warmSince = deps.clock.monotonicMs();
  });
  // Whoever waits for the boot hears of its failure; nobody may wait any more.
  ready.catch(() => {
    if (sandbox === null || state !== 'booting') return;
    become('broken');
    void destroy();
  });

  /** The fingerprint is taken before the boot: what changes meanwhile makes the sandbox stale, never wrongly fresh. */
  async function bootAsSeen(): Promise<Sandbox> {
    fingerprint = await deps.driver.fingerprint(profile);
    return deps.driver.boot(id, profile);
  }

  function onEnded(cause: string): void {
    if (state !== 'warm') return;
    deps.log.warn({ sandbox: id, cause }, 'a warm sandbox ended by itself');
    become('broken');
    void destroy();
  }

  function gone(): void {
    if (state === 'gone') return;
    become('gone');
    onGone();
  }

  async function remove(): Promise<void> {
    if (state !== 'destroying') become('destroying');
    await booted.catch(() => undefined);
    if (sandbox !== null) await destroyUntilGone(sandbox, deps.log);
    gone();
  }

  function destroy(): Promise<void> {
    if (state === 'gone') return Promise.resolve();
    destroying ??= remove();
    return destroying;
  }

  function handle(): Sandbox {
    if (sandbox === null) throw new Error(`sandbox ${id} has no handle yet`);
    return sandbox;
  }

  return {
    id,
    profile,
    fingerprint: () => fingerprint,
    warmSinceMs: () => warmSince,
    state: () => state,
    awaitedBy: () => (state === 'booting' || state === 'warm' ? awaitedBy : 'session'),
    await: () => {
      awaitedBy = 'session';
    },
    ready,
    claim: () => {
      become('claimed');
      return handle();
    },
    sandbox: handle,
    destroy,
  };
}

const rehearsalMs = 10_000;

/**
 * The first command of a sandbox takes longer than those after it: nothing of shell and supervisor has run yet. Whoever
 * waits for nobody runs one ahead, which also shows that it can. It runs before anything of a session is there.
 * @throws CodedError `sandbox_start_failed`
 */
async function rehearse(sandbox: Sandbox): Promise<void> {
  const execution = sandbox.run({
    argv: ['bash', '--noprofile', '--norc', '-c', 'true'],
    cwd: '/',
    timeoutMs: rehearsalMs,
    maxOutputBytes: 1024,
  });
  const { exitCode, cause } = await execution.end;
  if (exitCode === 0) return;
  throw new CodedError(
    'sandbox_start_failed',
    `Sandbox ${sandbox.id} booted, but cannot run a command: ${cause}, exit code ${exitCode}.`,
  );
}

async function destroyUntilGone(sandbox: Sandbox, log: Log): Promise<void> {
  const backoff = createBackoff(200, 10_000);
  for (;;) {
    try {
      return await sandbox.destroy();
    } catch (error) {
      log.error({ sandbox: sandbox.id, err: error }, 'a sandbox is still there; trying again');
      await delay(backoff.next());
    }
  }
}
