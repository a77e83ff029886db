import { readFileSync } from 'node:fs';
import { createApiClient } from '@lemniscate/cli/api-client.ts';
import type { ApiClient } from '@lemniscate/cli/api-client.ts';
import { verifySessionChain } from '@lemniscate/cli/audit-check.ts';
import type { ChainCheck } from '@lemniscate/cli/audit-check.ts';
import { attend } from '@lemniscate/cli/commands/run.ts';
import type { CommandIo } from '@lemniscate/cli/io.ts';
import { openSession } from '@lemniscate/cli/open-session.ts';
import { toolCallViewSchema } from '@lemniscate/shared/api/session.ts';
import type { SessionView, ToolCallView } from '@lemniscate/shared/api/session.ts';
import { z } from 'zod';
import type { Fleet } from './fleet.ts';

/** The first session after its end. */
export interface FirstSession {
  readonly client: ApiClient;
  readonly session: SessionView;
  readonly toolCalls: readonly ToolCallView[];
  readonly audit: ChainCheck;
}

const instruction =
  'A test of this repository fails. Find the cause, mend it in the source and not in the test, and run the tests again.';

/** Runs the first session through the public API, as the terminal client does, and shows it on `out`. */
export async function runFirstSession(
  fleet: Pick<Fleet, 'apiUrl' | 'tokenFile'>,
  repositoryFolder: string,
  io: CommandIo,
  out: NodeJS.WriteStream,
): Promise<FirstSession> {
  const { token } = JSON.parse(readFileSync(fleet.tokenFile, 'utf8')) as { token: string };
  const client = createApiClient({ url: fleet.apiUrl, token });
  const { session: opened } = await openSession(
    client,
    {
      instruction,
      repositoryFolder,
      surface: io.interactive ? 'terminal' : 'api',
      interactive: io.interactive,
      execution: 'server',
    },
    io.signal,
  );
  out.write(`session ${opened.id} on ${repositoryFolder}\n${modelNotice(opened.model)}\n\n`);
  const session = await attend(client, opened, io, { out, interactive: io.interactive });
  const calls = z.object({ toolCalls: z.array(toolCallViewSchema) });
  const { toolCalls } = await client.json(`/v1/sessions/${opened.id}/tool-calls`, calls);
  return { client, session, toolCalls, audit: await verifySessionChain(client, opened.id) };
}

function modelNotice(model: string): string {
  return model.startsWith('scripted')
    ? `model ${model}: NO REAL MODEL. Without ANTHROPIC_API_KEY a built-in script plays the model; it acts on what the tools answer.`
    : `model ${model}`;
}
