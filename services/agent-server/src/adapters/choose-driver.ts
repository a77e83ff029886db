import type { SandboxDriver } from '../application/ports/sandbox-driver.ts';
import type { SandboxDriverChoice } from '../domain/driver-choice.ts';
import { createBubblewrapDriver } from './sandbox/bubblewrap/driver.ts';

/** The sandbox driver that the operator chose. @throws CodedError `sandbox_driver_missing` */
export async function chooseDriver(
  _choice: SandboxDriverChoice,
  options: { readonly stateFolder: string; readonly serverId: string },
): Promise<SandboxDriver> {
  return createBubblewrapDriver(options);
}
