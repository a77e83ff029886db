import type { Readable, Writable } from 'node:stream';

/** What a command touches of its process; injected so that tests see every byte. */
export interface CommandIo {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A person sits in front of it and can be asked. */
  readonly interactive: boolean;
  readonly colour: boolean;
  /** Aborted by Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
  /** Hears the JSON of each answer of the fleet; undefined for an answer without a body. */
  readonly onAnswer?: (body: unknown) => void;
  /** The process' exit code when the command is over. */
  setExitCode(code: number): void;
}

/** Exit codes of the client itself; a session's come from the table of ends. */
export const exitCodes = { done: 0, failed: 1, usage: 2, interrupted: 130 } as const;
