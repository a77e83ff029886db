import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { SandboxProfile } from '../../application/ports/sandbox-driver.ts';

/** /dev/shm is charged to the memory bound and outlives a kill, so it stays small. */
export const sharedMemoryBytes = 16 * 1024 * 1024;

/** The supervisor's own tmpfs: pipes, and the standard input of running commands (16 MiB at most for one). */
export const supervisorFolderBytes = 24 * 1024 * 1024;

/** A supervisor at rest takes about 60 MB, most of it shared; below this it would not start. */
const leastMemoryBytes = 128 * 1024 * 1024;

/**
 * Refuses a profile whose tmpfs could fill the memory bound: pages of a tmpfs outlive the kill of whoever wrote
 * them, so filling it took the whole sandbox in 40 of 40 runs; capped below the bound 40 of 40 survived.
 * @throws CodedError `sandbox_start_failed`
 */
export function checkProfile(profile: SandboxProfile): void {
  const refuse = (why: string): never => {
    throw new CodedError(
      'sandbox_start_failed',
      `The sandbox profile "${profile.name}" cannot work: ${why}.`,
    );
  };
  const { memoryBytes, tmpBytes, processes, cpus } = profile;
  if (!(memoryBytes >= leastMemoryBytes))
    refuse(`memoryBytes is ${memoryBytes}, the least is ${leastMemoryBytes}`);
  if (!(processes >= 1)) refuse(`processes is ${processes}, the least is 1`);
  if (!(cpus > 0)) refuse(`cpus is ${cpus}`);
  const most = Math.floor(memoryBytes * 0.75) - sharedMemoryBytes - supervisorFolderBytes;
  if (!(tmpBytes > 0 && tmpBytes <= most))
    refuse(
      `tmpBytes is ${tmpBytes}; with this memory it may be up to ${most}, because /tmp is charged to it`,
    );
}
