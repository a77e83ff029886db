import { liesInClosedFolder } from './closed-folder.ts';
import type { UnprivilegedUser } from './unprivileged-user.ts';

/** How a program is put under `setpriv`. */
export interface Launch {
  /** Absolute path of the program. */
  readonly command: string;
  readonly cwd: string;
  /** Runs as this user; absent: as ourselves. */
  readonly user?: UnprivilegedUser | undefined;
  /** What the kernel sends it when we die without stopping it: `KILL`, or a signal that it stops on. */
  readonly deathSignal: 'KILL' | 'INT' | 'TERM';
}

/**
 * Arguments of `setpriv` up to the program. Where a folder on the way is closed to others (a clone under /root), the
 * user keeps CAP_DAC_OVERRIDE, which root had anyway; `no_setuid_fixup` because access(2), which Postgres asks,
 * otherwise ignores the capability.
 */
export function launcherArguments(launch: Launch): string[] {
  const death = ['--pdeathsig', launch.deathSignal];
  if (launch.user === undefined) return [...death, '--'];
  const identity = [`--reuid=${launch.user.uid}`, `--regid=${launch.user.gid}`, '--clear-groups'];
  const isClosed = liesInClosedFolder(launch.command) || liesInClosedFolder(launch.cwd);
  const passage = isClosed
    ? ['--inh-caps=+dac_override', '--ambient-caps=+dac_override', '--securebits=+no_setuid_fixup']
    : [];
  return [...death, ...identity, ...passage, '--'];
}
