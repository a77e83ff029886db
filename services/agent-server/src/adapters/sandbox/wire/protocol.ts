/**
 * What is said over a sandbox' wire. HTTP/2 carries it; the supervisor inside is the server. Commands are one
 * stream each, with frames in both directions: one byte of type, four bytes of length (big endian), payload.
 */
export const wirePaths = {
  ping: '/ping',
  commands: '/commands',
  killCommands: '/kill-commands',
  freeze: '/freeze',
  thaw: '/thaw',
  /** Followed by a port: a stream that tells connections by their number, four bytes each, while it is open. */
  loopback: '/loopback/',
  /** Followed by a connection's number: its bytes both ways. */
  connections: '/connections/',
} as const;

/** Frames that the host sends on a command's stream; `start` comes first and once. */
export const requestFrames = { start: 0, stdin: 1, stdinEnd: 2, kill: 3 } as const;

/** Frames that the supervisor sends; `end` comes last and once. */
export const responseFrames = { stdout: 0, stderr: 1, end: 2 } as const;

/** Bytes before each payload. */
export const frameHeaderBytes = 5;

/** A start frame holds argv and environment; the kernel's own bound for both together is 2 MiB. */
export const maxStartBytes = 2 * 1024 * 1024;

/** Largest payload that either side sends in an output or stdin frame. */
export const maxPayloadBytes = 64 * 1024;

/** Standard input is held in the sandbox' memory until the command has read it. */
export const maxStdinBytes = 16 * 1024 * 1024;

/** Payload of `start`, as JSON. */
export interface WireCommand {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Uid and gid inside the sandbox. */
  readonly uid: number;
  readonly gid: number;
  /** False where only one uid can be had: the command then runs as the supervisor's own. */
  readonly switchUser: boolean;
  /**
   * `none`: the command reads /dev/null, and no stdin frames follow. `whole`: it starts once its input has ended.
   * `live`: it starts at once and reads the frames as they come.
   */
  readonly stdin: 'none' | 'whole' | 'live';
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
}

/** Payload of `end`, as JSON. A claim of the sandbox; the host parses it as such. */
export interface WireCommandEnd {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly cause: 'exited' | 'timeout' | 'canceled';
  readonly durationMs: number;
  readonly outputBytes: number;
  readonly droppedBytes: number;
}

/** The numbers as a type, so that the supervisor, a file that may import nothing, is checked against them. */
export type RequestFrameNumbers = typeof requestFrames;
export type ResponseFrameNumbers = typeof responseFrames;
