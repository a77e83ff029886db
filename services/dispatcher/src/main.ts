import { pino } from 'pino';
import type { Logger } from 'pino';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { redactSecrets } from '@lemniscate/shared/secrets/redact.ts';
import { announcedBounds, readDispatcherConfig } from './config.ts';
import { closeMs } from './open-parts.ts';
import { startDispatcher } from './start-dispatcher.ts';

/**
 * One JSON line a record on standard error, written at once: the last words of a crash must not be lost. A secret that an
 * error's words bring along is replaced on the way out.
 */
function createLogger(level: string): Logger {
  return pino(
    { level, base: { service: 'dispatcher' }, hooks: { streamWrite: redactSecrets } },
    pino.destination({ dest: 2, sync: true }),
  );
}

/** The process: variables in, log lines out, one clean end. */
async function main(): Promise<void> {
  const config = readDispatcherConfig(process.env);
  const log = createLogger(config.LEMNISCATE_LOG_LEVEL);
  for (const bound of announcedBounds(config))
    log.warn(bound, `${bound.name} is ${bound.value} instead of ${bound.usual}`);
  const { publicPort, internalPort, stop } = await startDispatcher(config, log);
  log.info({ publicPort, internalPort }, 'the dispatcher is ready');
  let isStopping = false;
  const end = (cause: string): void => {
    if (isStopping) return;
    isStopping = true;
    log.info({ cause }, 'the dispatcher stops');
    // Whatever hangs in the way of a clean end must not hang for ever.
    setTimeout(() => process.exit(1), 3 * closeMs).unref();
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'the stop was not clean');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', () => end('SIGTERM'));
  process.on('SIGINT', () => end('SIGINT'));
  if (!config.LEMNISCATE_EXIT_WITH_PARENT) return;
  process.stdin.resume();
  process.stdin.on('end', () => end('the parent is gone'));
  process.stdin.on('error', () => end('the parent is gone'));
}

main().catch((error: unknown) => {
  const log = createLogger('info');
  if (isCodedError(error)) log.fatal({ code: error.code, details: error.details }, error.message);
  else log.fatal({ err: error }, 'the dispatcher cannot start');
  process.exit(1);
});
