import type {
  Sandbox,
  SandboxCounters,
  SandboxDriverName,
  SandboxEndCause,
  SandboxProfile,
} from '../../application/ports/sandbox-driver.ts';
import type { Wire } from './wire/wire.ts';

/** What a driver brings; the life around it is the same for all. */
export interface SandboxParts {
  readonly id: string;
  readonly driver: SandboxDriverName;
  readonly profile: SandboxProfile;
  readonly workspaceFolder: string;
  readonly commandUser: { readonly uid: number; readonly gid: number };
  readonly wire: Wire;
  /** Settles when the main process is gone; `killed` tells a SIGKILL from an exit of its own. */
  readonly exited: Promise<{ readonly killed: boolean }>;
  counters(): Promise<SandboxCounters>;
  /** Kills everything now; need not wait. */
  terminate(): void;
  /** Waits for the end, removes and verifies. @throws CodedError `sandbox_leaked` */
  remove(keepWorkspace: boolean): Promise<void>;
}

const killDeadlineMs = 10_000;

/** After the wire broke, the process has this long to be seen exiting before the wire itself is blamed. */
const exitGraceMs = 1_000;

/** Builds the live sandbox out of a driver's parts. */
export function createLiveSandbox(parts: SandboxParts): Sandbox {
  const { wire } = parts;
  let destroying = false;
  let removal: Promise<void> | undefined;

  const cause = async (): Promise<SandboxEndCause> => {
    if (destroying) return 'destroyed';
    let timer: NodeJS.Timeout | undefined;
    const grace = new Promise<null>((resolve) => {
      timer = setTimeout(resolve, exitGraceMs, null);
    });
    const exit = await Promise.race([parts.exited, grace]);
    clearTimeout(timer);
    if (destroying) return 'destroyed';
    if (exit === null) return 'wire_broken';
    if (!exit.killed) return 'exited';
    const counters = await parts.counters().catch(() => null); // the group may be gone with its sandbox
    return (counters?.memoryKills ?? 0) > 0 ? 'sandbox_memory' : 'exited';
  };
  const ended = Promise.race([wire.closed, parts.exited]).then(async () => {
    const why = await cause();
    wire.close();
    parts.terminate();
    return why;
  });

  return {
    id: parts.id,
    driver: parts.driver,
    profile: parts.profile,
    workspaceFolder: parts.workspaceFolder,
    commandUser: parts.commandUser,
    run: (command) => wire.run(command),
    listen: (port, onConnection, signal) => wire.listen(port, onConnection, signal),
    ping: (timeoutMs) => wire.ping(timeoutMs),
    killCommands: () => wire.killCommands(killDeadlineMs),
    counters: () => parts.counters(),
    ended,
    destroy(options = {}) {
      destroying = true;
      wire.close();
      parts.terminate();
      const keep = options.keepWorkspace === true;
      // a second call may give up what the first one kept; a failed one may be tried again
      removal = (removal ?? Promise.resolve()).catch(() => undefined).then(() => parts.remove(keep));
      return removal;
    },
  };
}
