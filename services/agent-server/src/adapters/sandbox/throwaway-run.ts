import { Readable } from 'node:stream';
import type { Writable } from 'node:stream';
import type { ThrowawayResult, ThrowawayRun } from '../../application/ports/sandbox-driver.ts';

/** A started program, however its sandbox was made. */
export interface StartedProgram {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: () => string;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
}

/** What a shell adds to a signal's number in an exit code. */
const signalBase = 128;
const signalNames: Readonly<Record<number, string>> = {
  6: 'SIGABRT',
  9: 'SIGKILL',
  11: 'SIGSEGV',
  15: 'SIGTERM',
};

/** bwrap and container engines report a signal's death as 128 + number. */
function asSignal(code: number | null): string | null {
  return code === null ? null : (signalNames[code - signalBase] ?? null);
}

/**
 * Feeds and reads one program until it ends: bounded output, one deadline, back-pressure both ways. `kill` must
 * end the program and close its output.
 */
export async function collectRun(
  program: StartedProgram,
  run: ThrowawayRun,
  kill: () => void,
): Promise<ThrowawayResult> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let truncated = false;
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    kill();
  }, run.timeoutMs);

  const fed = feed(program.stdin, run.stdin);
  const sink = run.stdout;
  const read = (async () => {
    for await (const chunk of program.stdout as AsyncIterable<Buffer>) {
      if (truncated) continue; // until the kill has closed the pipe
      bytes += chunk.length;
      if (bytes > run.maxOutputBytes) {
        truncated = true;
        kill();
        continue;
      }
      if (sink === undefined) chunks.push(chunk);
      else if (!sink.write(chunk)) await drained(sink);
    }
  })();

  try {
    await read;
    const { code, signal } = await program.exited;
    await fed;
    const killed = signal ?? asSignal(code);
    return {
      exitCode: killed === null ? code : null,
      signal: killed,
      timedOut,
      stdout: Buffer.concat(chunks),
      stderr: program.stderr(),
      truncated,
    };
  } catch (error) {
    kill();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves when the sink has room, or can take nothing any more. */
function drained(sink: NodeJS.WritableStream): Promise<void> {
  return new Promise((resolve) => {
    const events = ['drain', 'close', 'error'];
    const go = (): void => {
      for (const event of events) sink.off(event, go);
      resolve();
    };
    for (const event of events) sink.on(event, go);
  });
}

/** A program that does not read its input to the end is no error: EPIPE ends the feeding quietly. */
async function feed(stdin: Writable, source: Readable | Uint8Array | undefined): Promise<void> {
  stdin.on('error', () => stdin.destroy());
  if (source === undefined) return void stdin.end();
  const chunks = source instanceof Readable ? (source as AsyncIterable<Buffer>) : [source];
  for await (const chunk of chunks) {
    if (stdin.destroyed) return;
    if (stdin.write(chunk)) continue;
    await drained(stdin);
  }
  stdin.end();
}
