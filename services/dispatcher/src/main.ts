import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { announcedBounds, readDispatcherConfig } from './config.ts';
import { createLogger } from './log.ts';
import { closeMs } from './open-parts.ts';
import { startDispatcher } from './start-dispatcher.ts';

/** The process: variables in, log lines out, one clean end. */
async function main(): Promise<void> {
  const config = readDispatcherConfig(process.env);
  const log = createLogger(config.LEMNISCATE_LOG_LEVEL);
  // Node would write the fault's sentence, which may quote content
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'the dispatcher met a fault that nothing expects');
    process.exit(1);
  });
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
