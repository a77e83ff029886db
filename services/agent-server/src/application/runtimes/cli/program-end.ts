import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { RuntimeEnd } from '../runtime.ts';
import type { CliProcess } from './cli-process.ts';
import type { ModelPort } from './model-port.ts';
import { endOfRefusal } from './refused-exchange.ts';

/** A program that left without a last word: killed by a command, crashed. */
export interface DiedEnd extends RuntimeEnd {
  /** Whether it may be better the next time; a program that is missing stays missing. */
  readonly again: boolean;
}

/** It gave up. What the gateway saw counts before what the program says. */
export function endOfGivingUp(port: ModelPort, said: string): RuntimeEnd {
  const refusal = port.lastRefusal();
  return refusal === null ? { reason: 'model_failed', message: said.trim() } : endOfRefusal(refusal);
}

/** It left without a last word: killed, crashed, or a version that ends otherwise. */
export async function endWithoutResult(
  title: string,
  cli: CliProcess,
  port: ModelPort,
): Promise<RuntimeEnd | DiedEnd> {
  const { exitCode, signal, cause } = await cli.end;
  if (cause === 'sandbox_lost')
    throw new CodedError('sandbox_lost', `The sandbox ended while ${title} ran in it.`);
  const refusal = port.lastRefusal();
  if (refusal !== null) return endOfRefusal(refusal);
  const how = signal === null ? `exit code ${exitCode}` : `signal ${signal}`;
  const missing =
    exitCode === 127
      ? ' Its program is missing on this agent server: run npm ci, or build the image anew.'
      : '';
  return {
    reason: 'runtime_failed',
    message: `${title} ended without a result (${how}).${missing} ${cli.lastWords()}`.trim(),
    again: exitCode !== 127,
  };
}
