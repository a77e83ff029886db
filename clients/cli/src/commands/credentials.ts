import { credentialListSchema, setCredentialSchema } from '@lemniscate/shared/api/credential.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { makeVisible } from '@lemniscate/shared/text/visible.ts';
import type { Command } from 'commander';
import type { CommandIo } from '../io.ts';
import { connectFleet, printJson } from './context.ts';

const maxBytes = 64 * 1024;
const pathOf = (agent: string, name?: string): string =>
  `/v1/agents/${encodeURIComponent(agent)}/credentials${name === undefined ? '' : `/${encodeURIComponent(name)}`}`;

/** From standard input, so that it stands in no history and no process list. One line end at its end is not part of it. */
async function readValue(io: CommandIo): Promise<string> {
  if (io.interactive)
    throw new CodedError(
      'request_invalid',
      'The value comes on standard input: lemniscate agents credentials set AGENT NAME < FILE',
    );
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of io.stdin as AsyncIterable<Buffer | string>) {
    const chunk = Buffer.from(piece);
    bytes += chunk.length;
    if (bytes > maxBytes)
      throw new CodedError('request_invalid', `The value is longer than ${maxBytes} bytes.`);
    pieces.push(chunk);
  }
  const parsed = setCredentialSchema.safeParse({
    value: Buffer.concat(pieces)
      .toString()
      .replace(/\r?\n$/, ''),
  });
  if (parsed.success) return parsed.data.value;
  throw new CodedError(
    'request_invalid',
    `The value ${parsed.error.issues.map(({ message }) => message).join('; ')}.`,
  );
}

/** `lemniscate agents credentials`: what an agent's commands log in with. */
export function registerAgentCredentials(agents: Command, io: CommandIo): void {
  const credentials = agents
    .command('credentials')
    .description('Sets, lists and removes what an agent logs in with. Nobody can read a value back.');
  credentials
    .command('list')
    .argument('<agent>')
    .option('--json', 'as JSON')
    .action(async (agent: string, options: { json?: boolean }) => {
      const found = await (await connectFleet(io)).json(pathOf(agent), credentialListSchema);
      if (options.json === true) return printJson(io, found.credentials);
      for (const { name, version, changedBy, changedAt } of found.credentials)
        io.stdout.write(`${name}  version ${version}  ${changedAt}  ${makeVisible(changedBy)}\n`);
      return undefined;
    });
  credentials
    .command('set')
    .description('Sets or replaces a value, which is read from standard input.')
    .argument('<agent>')
    .argument('<name>', 'of the environment variable')
    .action(async (agent: string, name: string) => {
      const value = await readValue(io);
      await (await connectFleet(io)).open(pathOf(agent, name), { method: 'PUT', body: { value } });
      io.stdout.write(`${name} of ${agent} is set.\n`);
    });
  credentials
    .command('remove')
    .argument('<agent>')
    .argument('<name>')
    .action(async (agent: string, name: string) => {
      await (await connectFleet(io)).open(pathOf(agent, name), { method: 'DELETE' });
      io.stdout.write(`${name} of ${agent} is gone.\n`);
    });
}
