import type { Duplex, Readable } from 'node:stream';

/** Names of the drivers in the registry. */
export type SandboxDriverName = 'bubblewrap' | 'docker';

/** What one program in a throwaway sandbox may use. Sizes in bytes; `cpus` may be a fraction. */
export interface ThrowawayProfile {
  readonly name: string;
  readonly memoryBytes: number;
  readonly processes: number;
  readonly cpus: number;
  /** Size of the sandbox' own /tmp; charged to `memoryBytes`. */
  readonly tmpBytes: number;
  /** Size of /dev/shm; charged to `memoryBytes`. */
  readonly shmBytes: number;
  /** Docker only: image and OCI runtime. */
  readonly image?: string;
  readonly ociRuntime?: 'runc' | 'runsc' | 'kata';
}

/** What a session's sandbox may use. */
export interface SandboxProfile extends ThrowawayProfile {
  /** CPU time in all, over every command; `cpus` bounds the rate. */
  readonly cpuSeconds: number;
  /** Size of the disk that holds `/workspace` and `/home/agent`. */
  readonly diskBytes: number;
  /** Files, folders and links on it. */
  readonly diskFiles: number;
  /** Folders of the host that are readable inside under the same path; what is in their `bin` is found first. */
  readonly toolchains?: readonly string[];
}

/** What the driver found that this machine lets it enforce. */
export interface SandboxCapabilities {
  readonly memoryLimit: boolean;
  readonly processLimit: boolean;
  readonly cpuLimit: boolean;
  /** Bytes and files of `/workspace` and `/home/agent`. */
  readonly diskLimit: boolean;
  readonly seccomp: boolean;
  /** Commands run under another uid than the supervisor that holds the wire. */
  readonly separateCommandUser: boolean;
}

/** A host folder shown inside. */
export interface SandboxMount {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
  /** What the host mounts there later is seen inside. */
  readonly follows?: boolean;
}

/** One command. `argv[0]` is looked up in the sandbox' PATH; no shell unless the caller names one. */
export interface SandboxCommand {
  readonly argv: readonly string[];
  readonly cwd?: string;
  /** Added to the sandbox' own small environment; variables that carry code (BASH_ENV …) are removed. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: Uint8Array;
  /** Live standard input instead: the command starts at once and reads it as it comes; its end is the input's. */
  readonly input?: AsyncIterable<Uint8Array>;
  readonly timeoutMs: number;
  /** Bytes of output passed on; the excess is counted, then dropped, never held. */
  readonly maxOutputBytes: number;
  readonly signal?: AbortSignal;
}

export interface SandboxOutput {
  readonly stream: 'stdout' | 'stderr';
  readonly bytes: Uint8Array;
}

/** How a command ended. What the sandbox says of itself is a claim. */
export interface SandboxCommandEnd {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly cause: 'exited' | 'timeout' | 'canceled' | 'sandbox_lost';
  readonly durationMs: number;
  readonly outputBytes: number;
  readonly droppedBytes: number;
}

/** A running command: output in order, then its end. `end` always settles and never rejects. */
export interface SandboxExecution {
  readonly output: AsyncIterable<SandboxOutput>;
  readonly end: Promise<SandboxCommandEnd>;
}

/** Why a sandbox is gone: `destroyed` by us, or what the kernel's counters say. */
export type SandboxEndCause =
  | 'destroyed'
  | 'exited'
  | 'wire_broken'
  /** Its bounds could no longer be seen, so that nobody would know if one was broken. */
  | 'unwatched'
  | 'sandbox_memory'
  | 'sandbox_processes'
  | 'sandbox_cpu'
  | 'sandbox_disk';

/** What the kernel counted for one sandbox so far; null where this machine does not count it. */
export interface SandboxCounters {
  /** Processes that the kernel killed because the memory bound was reached. */
  readonly memoryKills: number | null;
  /** Forks that the kernel refused because the process bound was reached. */
  readonly processRefusals: number | null;
  /** CPU time used, in milliseconds. */
  readonly cpuMs: number | null;
  /** What is left of the sandbox' disk. */
  readonly diskLeftBytes: number | null;
  readonly diskLeftFiles: number | null;
}

/** One live sandbox. Its folders: `/workspace` (the working copy) and `/home/agent`, both writable; `/tmp`. */
export interface Sandbox {
  readonly id: string;
  readonly driver: SandboxDriverName;
  readonly profile: SandboxProfile;
  /** Host folder that is `/workspace` inside; empty at boot, filled by the host before the first command. */
  readonly workspaceFolder: string;
  /** Host folder that is `/home/agent` inside. */
  readonly homeFolder: string;
  /** Host uid and gid that commands run as; whatever is laid into the workspace must belong to them. */
  readonly commandUser: { readonly uid: number; readonly gid: number };
  run(command: SandboxCommand): SandboxExecution;
  /**
   * Listens on a port of the sandbox' own loopback and hands over each connection, until the signal is aborted.
   * Everything inside can connect: what comes is hostile. @throws CodedError `sandbox_lost`
   */
  listen(port: number, onConnection: (connection: Duplex) => void, signal: AbortSignal): Promise<void>;
  /** A round trip over the wire. @throws CodedError `sandbox_lost` */
  ping(timeoutMs: number): Promise<void>;
  /**
   * Lays a host tree that never changes into the empty workspace, in the same few milliseconds whatever its size: what
   * is written goes to the sandbox' disk, the tree stays as it is. Absent where this machine cannot; then files are copied.
   * @param under another one that is seen where the first has nothing
   */
  layTree?(tree: string, under?: string): Promise<void>;
  /** The same for `/home/agent`, before anything else is put there. Absent where `layTree` is. */
  layHome?(tree: string): Promise<void>;
  /** Kills every command, not the supervisor; resolves when they are gone. */
  killCommands(): Promise<void>;
  /**
   * Everything that commands have started stands still, and the time does not count against them; what is started later
   * runs. A kill ends it all the same. @throws CodedError `sandbox_lost`
   */
  freeze(): Promise<void>;
  /** Lets it go on. @throws CodedError `sandbox_lost` */
  thaw(): Promise<void>;
  /** Tells a broken bound that the sandbox itself survived (the kernel killed or refused one of its commands). */
  /** Null when the sandbox is gone. @throws Error where they cannot be read although it is there */
  counters(): Promise<SandboxCounters | null>;
  /** Settles once, with the cause; never rejects. */
  readonly ended: Promise<SandboxEndCause>;
  /** Ends it and verifies its absence; idempotent. @throws CodedError `sandbox_leaked` */
  destroy(options?: { readonly keepWorkspace?: boolean }): Promise<void>;
}

/** One program in a throwaway sandbox without a wire: same walls, own mounts, gone when it ends. */
export interface ThrowawayRun {
  readonly argv: readonly string[];
  readonly mounts: readonly SandboxMount[];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Host uid and gid whose rights it has on the mounts. */
  readonly user: { readonly uid: number; readonly gid: number };
  readonly stdin?: Readable | Uint8Array;
  /** Receives stdout; without it stdout is collected up to `maxOutputBytes`. */
  readonly stdout?: NodeJS.WritableStream;
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
}

export interface ThrowawayResult {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  readonly stdout: Buffer;
  readonly stderr: string;
  /** stdout went past `maxOutputBytes` and the program was killed. */
  readonly truncated: boolean;
}

/** A family of sandboxes. One file a driver, one registry line, one contract suite. */
export interface SandboxDriver {
  readonly name: SandboxDriverName;
  /** Looks at the machine. @throws CodedError `sandbox_driver_missing` that says what to install or start */
  probe(): Promise<SandboxCapabilities>;
  /**
   * What a sandbox of this profile would be made of now: changes with the profile, its image and the supervisor's files.
   * @throws CodedError `configuration_invalid` when the driver lacks what the profile asks for (an image, a runtime),
   * `sandbox_driver_missing` when the engine does not have it
   */
  fingerprint(profile: SandboxProfile): Promise<string>;
  /** Digest of the system that commands see: of the image, or of the host's own. What was installed on top belongs to it. */
  base(profile: SandboxProfile): Promise<string>;
  /** Starts a sandbox with its supervisor answering. @throws CodedError `sandbox_start_failed` */
  boot(id: string, profile: SandboxProfile): Promise<Sandbox>;
  runThrowaway(run: ThrowawayRun): Promise<ThrowawayResult>;
  /** Destroys whatever is there of this server and nobody here holds (by label or folder); returns their ids. */
  recover(): Promise<string[]>;
  /** Ids of all sandboxes of this server that exist on the machine right now, for leak checks. */
  list(): Promise<string[]>;
}
