import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { settledWithin } from './application/abortable.ts';
import { readConfig } from './config.ts';
import type { Config } from './config.ts';
import { createLogger } from './log.ts';
import { startAgentServer } from './start-agent-server.ts';
import type { AgentServer } from './start-agent-server.ts';

/** How long a stop may take: sandboxes die in milliseconds, what hangs is left to the next start's recovery. */
const stopMs = 20_000;

async function main(): Promise<void> {
  const log = createLogger();
  // Node would write the fault's sentence, which may quote content
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'the agent server met a fault that nothing expects');
    process.exit(1);
  });
  let server: AgentServer;
  let config: Config;
  try {
    config = readConfig(process.env);
    server = await startAgentServer(config, log);
  } catch (error) {
    // what is wrong before the first session is the operator's own: a variable, a file, a tool that is not there
    if (isCodedError(error)) log.fatal({ code: error.code, details: error.details }, error.message);
    else log.fatal({ err: error }, 'the agent server cannot start');
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
