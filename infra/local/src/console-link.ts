import { readFileSync } from 'node:fs';
import { createApiClient } from '@lemniscate/cli/api-client.ts';
import { newConsoleLink } from '@lemniscate/cli/commands/console.ts';
import type { Fleet } from './fleet.ts';

/** A link that opens the console logged in as whoever started the fleet; good once, for minutes. */
export async function offerConsoleLink(fleet: Pick<Fleet, 'apiUrl' | 'tokenFile'>): Promise<string> {
  const { token } = JSON.parse(readFileSync(fleet.tokenFile, 'utf8')) as { token: string };
  return (await newConsoleLink(createApiClient({ url: fleet.apiUrl, token }))).url;
}
