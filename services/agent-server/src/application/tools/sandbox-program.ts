import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { SandboxCommandEnd } from '../ports/sandbox-driver.ts';
import type { ToolContext } from './tool.ts';

/** File tools are quick; what hangs (a FIFO, a dead mount) is ended. */
const fileToolTimeoutMs = 30_000;
const errorBytes = 4096;

export interface ProgramRun {
  readonly stdout: Buffer;
  readonly stderr: string;
  readonly end: SandboxCommandEnd;
  /** stdout had more than `maxBytes`; the program was ended there. */
  readonly truncated: boolean;
}

/**
 * Runs one program inside the sandbox and collects at most `maxBytes` of its stdout.
 * @throws CodedError `sandbox_lost`; the signal's reason after a stop
 */
export async function runProgram(
  context: Pick<ToolContext, 'sandbox' | 'signal'>,
  argv: readonly string[],
  maxBytes: number,
  stdin?: Uint8Array,
): Promise<ProgramRun> {
  const enough = new AbortController();
  const execution = context.sandbox.run({
    argv,
    cwd: '/workspace',
    timeoutMs: fileToolTimeoutMs,
    maxOutputBytes: maxBytes + errorBytes + 64 * 1024,
    signal: AbortSignal.any([context.signal, enough.signal]),
    ...(stdin === undefined ? {} : { stdin }),
  });
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  let bytes = 0;
  let errors = 0;
  for await (const piece of execution.output) {
    if (piece.stream === 'stdout') {
      stdout.push(Buffer.from(piece.bytes));
      bytes += piece.bytes.length;
      if (bytes > maxBytes) enough.abort(new Error('enough'));
    } else if (errors < errorBytes) {
      stderr.push(Buffer.from(piece.bytes));
      errors += piece.bytes.length;
    }
  }
  const end = await execution.end;
  context.signal.throwIfAborted();
  if (end.cause === 'sandbox_lost')
    throw new CodedError('sandbox_lost', 'The sandbox ended while a tool ran in it.');
  return {
    stdout: Buffer.concat(stdout).subarray(0, maxBytes),
    stderr: Buffer.concat(stderr).subarray(0, errorBytes).toString('utf8').trim(),
    end,
    truncated: bytes > maxBytes,
  };
}

/** argv of a fixed bash script; whatever the model wrote arrives as a positional parameter and is never parsed as code. */
export function script(text: string, ...parameters: readonly string[]): string[] {
  return ['bash', '--noprofile', '--norc', '-c', text, 'tool', ...parameters];
}

/** A path as an operand that no program takes for an option or for standard input. */
export function operand(path: string): string {
  return path.startsWith('/') ? path : `./${path}`;
}

/** Exit codes of our scripts that stand for one sentence each. */
export const scriptFaults: Readonly<Record<number, (path: string) => string>> = {
  81: (path) => `${path} does not exist.`,
  82: (path) => `${path} is a folder, not a file.`,
  83: (path) => `${path} is not a regular file (a device, socket or pipe).`,
  84: (path) => `${path} is not a folder.`,
};

/** The sentence for a script that failed. */
export function explain(run: ProgramRun, path: string): string {
  const known = scriptFaults[run.end.exitCode ?? -1];
  if (known !== undefined) return known(path);
  if (run.end.cause === 'timeout') return `${path}: no answer within ${fileToolTimeoutMs / 1000} s.`;
  return run.stderr === '' ? `${path}: failed with exit code ${run.end.exitCode}.` : run.stderr;
}
