import { ask, seenHeader } from '@lemniscate/api/client.ts';
import type { Api } from '@lemniscate/api/client.ts';
import { setCredentialSchema } from '@lemniscate/shared/api/credential.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Command } from 'commander';
import { writeTable } from '../columns.ts';
import type { CommandIo } from '../io.ts';
import { connectFleet, printJson } from './context.ts';
import { readSecret } from './read-input.ts';

async function readValue(io: CommandIo): Promise<string> {
  const value = await readSecret(io, 'lemniscate agents credentials set AGENT NAME');
  const parsed = setCredentialSchema.safeParse({ value });
  if (parsed.success) return parsed.data.value;
  throw new CodedError(
    'request_invalid',
    `The value ${parsed.error.issues.map(({ message }) => message).join('; ')}.`,
  );
}

async function seenCredential(api: Api, agent: string, name: string): Promise<{ 'if-match': string }> {
  const { credentials } = await ask(
    api.GET('/v1/agents/{agent}/credentials', { params: { path: { agent } } }),
  );
  return seenHeader(credentials.find((one) => one.name === name));
}

/** `lemniscate agents credentials`: what an agent's commands log in with. */
export function registerAgentCredentials(agents: Command, io: CommandIo): void {
  const credentials = agents
    .command('credentials')
    .description('Sets, lists and removes what an agent logs in with. Nobody can read a value back.');
  credentials
    .command('list')
    .description('Lists the names, never the values.')
    .argument('<agent>')
    .option('--json', 'as JSON')
    .action(async (agent: string, options: { json?: boolean }) => {
      const found = await ask(
        (await connectFleet(io)).api.GET('/v1/agents/{agent}/credentials', { params: { path: { agent } } }),
      );
      if (options.json === true) return printJson(io, found.credentials);
      return writeTable(
        io.stdout,
        found.credentials.map(({ name, version, changedBy, changedAt }) => [
          name,
          `version ${version}`,
          changedAt,
          changedBy,
        ]),
      );
    });
  credentials
    .command('set')
    .description('Sets or replaces a value, which is read from standard input.')
    .argument('<agent>')
    .argument('<name>', 'of the environment variable')
    .action(async (agent: string, name: string) => {
      const value = await readValue(io);
      const { api } = await connectFleet(io);
      const header = await seenCredential(api, agent, name);
      await ask(
        api.PUT('/v1/agents/{agent}/credentials/{name}', {
          params: { path: { agent, name }, header },
          body: { value },
        }),
      );
      io.stdout.write(`${name} of ${agent} is set.\n`);
    });
  credentials
    .command('remove')
    .description('Forgets a value.')
    .argument('<agent>')
    .argument('<name>')
    .action(async (agent: string, name: string) => {
      const { api } = await connectFleet(io);
      const header = await seenCredential(api, agent, name);
      const params = { path: { agent, name }, header };
      await ask(api.DELETE('/v1/agents/{agent}/credentials/{name}', { params }));
      io.stdout.write(`${name} of ${agent} is gone.\n`);
    });
}
