import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { sandboxLimits } from '../domain/sandbox-limits.ts';
import type { SandboxLimit } from '../domain/sandbox-limits.ts';
import type { Log } from './ports/log.ts';
import type { SandboxCapabilities, SandboxDriver } from './ports/sandbox-driver.ts';

interface Requirement {
  readonly held: (capabilities: SandboxCapabilities) => boolean;
  readonly needs: string;
}

const requirements: Readonly<Record<SandboxLimit, Requirement>> = {
  memory: {
    held: (found) => found.memoryLimit,
    needs: 'root and a writable memory control group, or an engine that has one',
  },
  processes: {
    held: (found) => found.processLimit,
    needs: 'root and a writable pids control group, or an engine that has one',
  },
  cpu: {
    held: (found) => found.cpuLimit,
    needs: 'root and a writable cpu control group, or an engine that has one',
  },
  disk: {
    held: (found) => found.diskLimit,
    needs:
      'root, mkfs.ext4 (apt-get install e2fsprogs) and a free loop device, and an engine that sees this process’ mounts',
  },
};

/**
 * Looks whether the driver can hold every bound that sessions are promised. One that it cannot hold must have been
 * waived by name, and is then said again at each start.
 * @throws CodedError `sandbox_limit_missing` that names the bounds, what each needs, and how to waive them
 */
export async function requireLimits(
  driver: SandboxDriver,
  waived: readonly SandboxLimit[],
  log: Log,
): Promise<SandboxCapabilities> {
  const capabilities = await driver.probe();
  const missing = sandboxLimits.filter((limit) => !requirements[limit].held(capabilities));
  const refused = missing.filter((limit) => !waived.includes(limit));
  if (refused.length > 0)
    throw new CodedError(
      'sandbox_limit_missing',
      `The ${driver.name} driver cannot bound ${refused.join(', ')} on this machine, so a session could take all of it. ` +
        `${refused.map((limit) => `${limit} needs ${requirements[limit].needs}`).join('; ')}. ` +
        `To run without, say so: LEMNISCATE_WAIVE_LIMITS=${missing.join(',')}`,
      { driver: driver.name, limits: refused },
    );
  if (missing.length > 0)
    log.warn(
      { driver: driver.name, limits: missing },
      'sessions run without these bounds, as the operator asked',
    );
  if (!capabilities.separateCommandUser)
    log.warn(
      { driver: driver.name },
      'commands share the uid of the supervisor; run as root to give them their own',
    );
  return capabilities;
}
