import { executions } from '@lemniscate/shared/api/session.ts';
import type { Execution } from '@lemniscate/shared/api/session.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';

/**
 * Where the sandbox runs, from `LEMNISCATE_AGENT_EXECUTION`: absent means `workstation`.
 * @throws CodedError `execution_refused` for any other value; never a silent default
 */
export function readExecution(env: Readonly<Record<string, string | undefined>>): Execution {
  const text = env.LEMNISCATE_AGENT_EXECUTION;
  if (text === undefined) return 'workstation';
  const known = executions.find((execution) => execution === text);
  if (known !== undefined) return known;
  throw new CodedError(
    'execution_refused',
    `LEMNISCATE_AGENT_EXECUTION is ${JSON.stringify(text)}. It can be "server" or "workstation", or be unset, which means workstation.`,
  );
}
