import type { Log } from '../application/ports/log.ts';
import type { SandboxDriver } from '../application/ports/sandbox-driver.ts';

/** Destroys what nobody holds any more: sandboxes, mounts, control groups and folders of this server. */
export interface LeakCheck {
  start(): void;
  /** Looks now. @returns ids of what was found and destroyed */
  look(): Promise<string[]>;
  stop(): Promise<void>;
}

const everyMs = 60_000;

/** What it finds is a fault of ours, so it says so aloud; a driver that cannot look says it and is asked again. */
export function createLeakCheck(driver: Pick<SandboxDriver, 'recover'>, log: Log): LeakCheck {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<unknown> | null = null;

  const look = async (): Promise<string[]> => {
    const found = await driver.recover();
    if (found.length > 0) log.error({ sandboxes: found }, 'sandboxes that nobody held were destroyed');
    return found;
  };
  // one that takes longer than the time between two is not piled up on
  const lookQuietly = () => {
    running ??= look()
      .catch((error: unknown) => {
        log.error({ err: error }, 'the check for leaked sandboxes failed');
      })
      .finally(() => (running = null));
  };

  return {
    start: () => {
      timer = setInterval(lookQuietly, everyMs).unref();
    },
    look,
    stop: async () => {
      clearInterval(timer);
      await running;
    },
  };
}
