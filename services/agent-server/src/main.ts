import { pino } from 'pino';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { redactSecrets } from '@lemniscate/shared/secrets/redact.ts';
import { settledWithin } from './application/abortable.ts';
import { readConfig } from './config.ts';
import type { Config } from './config.ts';
import { startAgentServer } from './start-agent-server.ts';
import type { AgentServer } from './start-agent-server.ts';

/** How long a stop may take: sandboxes die in milliseconds, what hangs is left to the next start's recovery. */
const stopMs = 20_000;

async function main(): Promise<void> {
  const log = pino(
    { base: { service: 'agent-server' }, hooks: { streamWrite: redactSecrets } },
    pino.destination(2),
  );
  let server: AgentServer;
  let config: Config;
  try {
    config = readConfig(process.env);
    server = await startAgentServer(config, log);
  } catch (error) {
    log.fatal(
      isCodedError(error) ? { code: error.code, details: error.details } : { error },
      (error as Error).message,
    );
    process.exit(1);
  }
  const stop = async (why: string) => {
    log.info({ why }, 'stopping');
    const clean = await settledWithin(server.stop(), stopMs);
    if (!clean) log.error({}, 'not everything stopped in time; the next start cleans up');
    process.exit(clean ? 0 : 1);
  };
  process.once('SIGTERM', () => void stop('SIGTERM'));
  process.once('SIGINT', () => void stop('SIGINT'));
  if (!config.exitWithParent) return;
  process.stdin.on('end', () => void stop('the parent is gone'));
  process.stdin.on('error', () => void stop('the parent is gone'));
  process.stdin.resume();
}

await main();
