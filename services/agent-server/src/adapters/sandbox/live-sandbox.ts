import type {
  Sandbox,
  SandboxCommandEnd,
  SandboxCounters,
  SandboxDriverName,
  SandboxEndCause,
  SandboxProfile,
} from '../../application/ports/sandbox-driver.ts';
import { createBoundWatch } from './bound-watch.ts';
import type { BoundWatch } from './bound-watch.ts';
import { toolchainEnvironment } from './toolchains.ts';
import type { Wire } from './wire/wire.ts';

/** What a driver brings; the life around it is the same for all. */
export interface SandboxParts {
  readonly id: string;
  readonly driver: SandboxDriverName;
  readonly profile: SandboxProfile;
  readonly workspaceFolder: string;
  readonly homeFolder: string;
  readonly commandUser: { readonly uid: number; readonly gid: number };
  readonly wire: Wire;
  /** Settles when the main process is gone. */
  readonly exited: Promise<object>;
  /** Null when it is gone. @throws Error where they cannot be read */
  counters(): Promise<SandboxCounters | null>;
  /** Calls when the kernel has refused a fork, where it says so; the returned function ends that. */
  onRefusedFork?(listener: () => void): () => void;
  layTree?(tree: string, under?: string): Promise<void>;
  layHome?(tree: string): Promise<void>;
  /** Kills everything now; need not wait. */
  terminate(): void;
  /** Waits for the end, removes and verifies. @throws CodedError `sandbox_leaked` */
  remove(keepWorkspace: boolean): Promise<void>;
}

const killDeadlineMs = 10_000;
const freezeDeadlineMs = 5_000;

/** After the wire broke, the process has this long to be seen exiting before the wire itself is blamed. */
const exitGraceMs = 1_000;

/** Builds the live sandbox out of a driver's parts. */
export function createLiveSandbox(parts: SandboxParts): Sandbox {
  const { wire } = parts;
  let destroying = false;
  let removal: Promise<void> | undefined;
  const toolchains = toolchainEnvironment(parts.profile);
  const watch = createBoundWatch(parts.profile, () => parts.counters(), parts.onRefusedFork);

  const cause = async (): Promise<SandboxEndCause> => {
    if (destroying) return 'destroyed';
    // at once: an engine removes the counters of a container with it
    const broken = await watch.look();
    if (destroying) return 'destroyed';
    if (broken !== null) return broken;
    let timer: NodeJS.Timeout | undefined;
    const grace = new Promise<null>((resolve) => {
      timer = setTimeout(resolve, exitGraceMs, null);
    });
    const exit = await Promise.race([parts.exited, grace]);
    clearTimeout(timer);
    if (destroying) return 'destroyed';
    if (exit === null) return 'wire_broken';
    return (await watch.look()) ?? 'exited';
  };
  const ended = Promise.race([wire.closed, parts.exited, watch.whenBroken]).then(async () => {
    const why = await cause();
    watch.stop();
    wire.close();
    parts.terminate();
    return why;
  });

  return {
    id: parts.id,
    driver: parts.driver,
    profile: parts.profile,
    workspaceFolder: parts.workspaceFolder,
    homeFolder: parts.homeFolder,
    commandUser: parts.commandUser,
    run(command) {
      watch.start();
      const execution = wire.run({ ...command, env: { ...toolchains, ...command.env } });
      return { output: execution.output, end: afterLook(execution.end, watch) };
    },
    listen: (port, onConnection, signal) => wire.listen(port, onConnection, signal),
    ping: (timeoutMs) => wire.ping(timeoutMs),
    ...(parts.layTree === undefined ? {} : { layTree: parts.layTree }),
    ...(parts.layHome === undefined ? {} : { layHome: parts.layHome }),
    killCommands: () => wire.killCommands(killDeadlineMs),
    freeze: () => wire.freeze(freezeDeadlineMs),
    thaw: () => wire.thaw(freezeDeadlineMs),
    counters: () => parts.counters(),
    ended,
    destroy(options = {}) {
      destroying = true;
      watch.stop();
      wire.close();
      parts.terminate();
      const keep = options.keepWorkspace === true;
      // a second call may give up what the first one kept; a failed one may be tried again
      removal = (removal ?? Promise.resolve()).catch(() => undefined).then(() => parts.remove(keep));
      return removal;
    },
  };
}

/** A command that broke a bound took the sandbox with it, whatever it says of its own end. */
async function afterLook(end: Promise<SandboxCommandEnd>, watch: BoundWatch): Promise<SandboxCommandEnd> {
  const ended = await end;
  if ((await watch.look()) === null) return ended;
  return { ...ended, exitCode: null, signal: null, cause: 'sandbox_lost' };
}
