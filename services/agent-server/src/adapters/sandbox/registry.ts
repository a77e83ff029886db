import type { Clock } from '@lemniscate/shared/clock.ts';
import type { SandboxDriver, SandboxDriverName } from '../../application/ports/sandbox-driver.ts';
import { createBubblewrapDriver } from './bubblewrap/driver.ts';
import { createDockerDriver } from './docker/driver.ts';

/** What every driver is made of. */
export interface SandboxDriverOptions {
  /** Holds everything of the driver on this host; see each driver for what it asks of it. */
  readonly stateFolder: string;
  readonly serverId: string;
  readonly clock?: Clock;
  /** Docker: image of throwaway runs, and of profiles that name none. */
  readonly image?: string;
}

/** One line a driver; `docs/adding-a-sandbox-driver.md` has the rest. */
export const sandboxDrivers: Readonly<
  Record<SandboxDriverName, (options: SandboxDriverOptions) => SandboxDriver>
> = {
  bubblewrap: createBubblewrapDriver,
  docker: createDockerDriver,
};
