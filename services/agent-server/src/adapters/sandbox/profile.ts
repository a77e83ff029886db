import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { SandboxProfile } from '../../application/ports/sandbox-driver.ts';

/** A supervisor at rest takes about 60 MB, most of it shared; below this it would not start. */
const leastMemoryBytes = 128 * 1024 * 1024;

/**
 * Refuses a profile whose tmpfs could fill the memory bound: pages of a tmpfs outlive the kill of whoever wrote
 * them, so filling it took the whole sandbox in 40 of 40 runs; capped below the bound 40 of 40 survived.
 * @throws CodedError `sandbox_start_failed`
 */
export function checkProfile(profile: SandboxProfile, otherTmpfsBytes: number): void {
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
  const most = Math.floor(memoryBytes * 0.75) - otherTmpfsBytes;
  if (!(tmpBytes > 0 && tmpBytes <= most))
    refuse(
      `tmpBytes is ${tmpBytes}; with this memory it may be up to ${most}, because /tmp is charged to it`,
    );
}
