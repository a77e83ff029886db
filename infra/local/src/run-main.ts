import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';

/**
 * Runs a command's main function: its number is the exit code, a coded error its sentence on stderr and 1. The signal
 * aborts on Ctrl-C or SIGTERM; the function then ends in order. More signals change nothing: npm and the launcher each
 * pass on the one that the terminal sent already.
 */
export async function runMain(main: (stopped: AbortSignal) => Promise<number>): Promise<void> {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  try {
    process.exitCode = await main(stopping.signal);
  } catch (error) {
    process.exitCode = 1;
    console.error(isCodedError(error) ? `${error.message} [${error.code}]` : error);
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.off(signal, stop);
  }
}
