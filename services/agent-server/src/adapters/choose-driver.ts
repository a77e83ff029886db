import type { Log } from '../application/ports/log.ts';
import type { SandboxDriver } from '../application/ports/sandbox-driver.ts';
import type { SandboxDriverChoice } from '../domain/driver-choice.ts';
import { sandboxDrivers } from './sandbox/registry.ts';
import type { SandboxDriverOptions } from './sandbox/registry.ts';

/**
 * The sandbox driver that the operator chose, with its machine looked at. `auto` takes docker where an engine answers
 * and can run a program in our image, else bubblewrap.
 * @throws CodedError `sandbox_driver_missing` that says what to install or start
 */
export async function chooseDriver(
  choice: SandboxDriverChoice,
  options: SandboxDriverOptions,
  log: Log,
): Promise<SandboxDriver> {
  if (choice !== 'auto') {
    const driver = sandboxDrivers[choice](options);
    await driver.probe();
    return driver;
  }
  const docker = sandboxDrivers.docker(options);
  try {
    await docker.probe();
    await runsAProgram(docker);
    return docker;
  } catch (error) {
    log.info({ error: String(error) }, 'docker cannot be used here; bubblewrap is taken');
  }
  return chooseDriver('bubblewrap', options, log);
}

/** An engine without the image answers too, so only a program that has run says that sandboxes can be made. */
async function runsAProgram(driver: SandboxDriver): Promise<void> {
  const run = await driver.runThrowaway({
    argv: ['true'],
    mounts: [],
    cwd: '/',
    user: { uid: 10_001, gid: 10_001 },
    timeoutMs: 10_000,
    maxOutputBytes: 1024,
  });
  if (run.exitCode !== 0) throw new Error(`a program ended with ${run.exitCode}: ${run.stderr}`);
}
