import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Wire } from './wire/wire.ts';

/** 50 boots at once took 1.7 s on two cores; a machine under load may need a multiple. */
const bootDeadlineMs = 20_000;

/** What is known of a main process that may die before it speaks. */
export interface StartingProcess {
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  stderr(): string;
}

/** The first ping, or the reason why none came. @throws CodedError `sandbox_start_failed` */
export async function firstAnswer(wire: Wire, started: StartingProcess): Promise<void> {
  const gone = started.exited.then(({ code, signal }) => {
    const words = started.stderr().trim();
    throw new CodedError(
      'sandbox_start_failed',
      `The supervisor ended before it answered (${signal ?? `exit ${code}`})${words === '' ? '' : `: ${words}`}.`,
    );
  });
  gone.catch(() => undefined); // after the first answer nobody waits for it any more
  await Promise.race([wire.ping(bootDeadlineMs), gone]).catch(async (error: unknown) => {
    // a wire that broke because the process ended: the exit tells more
    await Promise.race([gone, new Promise((resolve) => setTimeout(resolve, 200))]);
    const reason = error instanceof Error ? error.message : String(error);
    throw new CodedError('sandbox_start_failed', `${reason} ${started.stderr().trim()}`.trim(), {}, error);
  });
}
