import { isatty } from 'node:tty';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { makeVisible } from '@lemniscate/shared/text/visible.ts';
import { CommanderError } from 'commander';
import { exitCodes } from './io.ts';
import type { CommandIo } from './io.ts';
import { createProgram } from './program.ts';

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    // The second time nothing is waited for.
    if (stop.signal.aborted) process.exit(exitCodes.interrupted);
    stop.abort();
  });
/** `lemniscate logs … | head` ends the reader first; that is no fault, but nothing goes on that nobody sees. */
let readerGone = false;
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    readerGone = true;
    stop.abort();
  });

/** A terminal on which one can draw; `dumb` is what editors call theirs that only take lines. */
const canDraw = isatty(1) && process.env.TERM !== 'dumb';

const io: CommandIo = {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  // Not `stream.isTTY`: that is absent, not false, without a terminal, and a colour library then asks the environment.
  interactive: isatty(0) && canDraw,
  colour: canDraw && !process.env.NO_COLOR,
  signal: stop.signal,
  setExitCode: (code) => {
    process.exitCode = code;
  },
};

/** Errors of whoever called the program: a wrong word or variable, nothing that happened. */
const usageErrors = ['execution_refused', 'request_invalid', 'configuration_invalid'] as const;

try {
  await createProgram(io).parseAsync(process.argv);
} catch (error) {
  if (error instanceof CommanderError)
    process.exitCode = error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
  else if (stop.signal.aborted) process.exitCode = readerGone ? exitCodes.done : exitCodes.interrupted;
  else {
    const usage = usageErrors.some((code) => isCodedError(error, code));
    process.exitCode = usage ? exitCodes.usage : exitCodes.failed;
    const text = isCodedError(error)
      ? `${error.message} [${error.code}]`
      : String((error as Error).stack ?? error);
    process.stderr.write(`lemniscate: ${makeVisible(text)}\n`);
  }
}
