import type { ApiClient } from '../api-client.ts';
import { createApiClient } from '../api-client.ts';
import { findEndpoint } from '../endpoint.ts';
import type { CommandIo } from '../io.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { visibleJson } from '@lemniscate/shared/text/visible.ts';

/** A client for the fleet that the environment or the local data folder names. @throws CodedError `service_unreachable` */
export async function connectFleet(io: CommandIo): Promise<ApiClient> {
  const endpoint = await findEndpoint(io.env);
  if (endpoint !== null) return createApiClient(endpoint, io.onAnswer);
  throw new CodedError(
    'service_unreachable',
    'No fleet is running on this machine. Start one with "npm start" in the project’s folder, or set LEMNISCATE_URL and LEMNISCATE_TOKEN.',
  );
}

/** Prints a value as one line of JSON. */
export function printJson(io: CommandIo, value: unknown): void {
  io.stdout.write(`${visibleJson(value)}\n`);
}
