import { createHash } from 'node:crypto';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { SandboxProfile, ThrowawayProfile } from '../../application/ports/sandbox-driver.ts';
import type { SupervisorFiles } from './supervisor/prepare.ts';

/** One digest over everything that a sandbox is made of. */
export function fingerprintOf(profile: SandboxProfile, files: SupervisorFiles, base: string): string {
  const fields = Object.entries({ ...profile }).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([fields, files.node, files.supervisor, base]))
    .digest('hex');
}

/** A driver does not pretend: what it cannot give is told before any session relies on it. */
export function unsuited({ name }: SandboxProfile, what: 'image' | 'runtime', value: string): CodedError {
  const help =
    what === 'image'
      ? 'bubblewrap shows the host’s own programs and takes no image: use the docker driver (LEMNISCATE_SANDBOX_DRIVER=docker), or take the image out of the profile'
      : `neither bubblewrap nor an engine without it can run that OCI runtime: install it and name it in the engine’s configuration, use the docker driver, or take it out of the profile`;
  return new CodedError(
    'configuration_invalid',
    `The sandbox profile "${name}" asks for the ${what} ${value}, which this server does not have: ${help}.`,
    { profile: name, [what]: value },
  );
}

/** The supervisor's own tmpfs: pipes, and the standard input of running commands (16 MiB at most for one). */
export const supervisorFolderBytes = 24 * 1024 * 1024;

/** Bounds of throwaway runs: git and archives of repositories that the server takes. */
export const throwawayBounds: ThrowawayProfile = {
  name: 'throwaway',
  memoryBytes: 2 * 1024 ** 3,
  processes: 256,
  cpus: 2,
  tmpBytes: 256 * 1024 ** 2,
  shmBytes: 16 * 1024 ** 2,
};

/** An ext4 file system with its journal and room for inodes; below this mkfs refuses or nothing fits. */
const leastDiskBytes = 32 * 1024 * 1024;

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
  const { memoryBytes, tmpBytes, shmBytes, processes, cpus, cpuSeconds, diskBytes, diskFiles } = profile;
  if (!(memoryBytes >= leastMemoryBytes))
    refuse(`memoryBytes is ${memoryBytes}, the least is ${leastMemoryBytes}`);
  if (!(processes >= 1)) refuse(`processes is ${processes}, the least is 1`);
  if (!(cpus > 0)) refuse(`cpus is ${cpus}`);
  if (!(cpuSeconds >= 1)) refuse(`cpuSeconds is ${cpuSeconds}, the least is 1`);
  if (!(diskBytes >= leastDiskBytes)) refuse(`diskBytes is ${diskBytes}, the least is ${leastDiskBytes}`);
  // one inode takes 256 bytes of the disk, and a file at least one block of 4 KiB
  if (!(diskFiles >= 64 && diskFiles <= diskBytes / 1024))
    refuse(`diskFiles is ${diskFiles}; with this disk it may be from 64 to ${Math.floor(diskBytes / 1024)}`);
  if (!(shmBytes > 0 && shmBytes <= memoryBytes / 4))
    refuse(`shmBytes is ${shmBytes}; with this memory it may be up to ${Math.floor(memoryBytes / 4)}`);
  const most = Math.floor(memoryBytes * 0.75) - shmBytes - supervisorFolderBytes;
  if (!(tmpBytes > 0 && tmpBytes <= most))
    refuse(
      `tmpBytes is ${tmpBytes}; with this memory it may be up to ${most}, because /tmp is charged to it`,
    );
}
