import { ask, seenHeader } from '@lemniscate/api/client.ts';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { ServerView } from '@lemniscate/shared/api/server.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { makeVisible } from '@lemniscate/shared/text/visible.ts';
import type { Command } from 'commander';
import type { ApiClient } from '../api-client.ts';
import { writeTable } from '../columns.ts';
import type { CommandIo } from '../io.ts';
import { joinServer, ownServerKey } from '../join-server.ts';
import { connectFleet, printJson } from './context.ts';

interface DrainOptions {
  readonly deadline?: string;
  readonly wait?: boolean;
}

interface InviteOptions {
  readonly key: string;
  readonly capacity: string;
  readonly pool: string;
  readonly json?: boolean;
}

interface JoinOptions {
  readonly to: string;
  readonly fleet?: string;
  readonly address?: string;
  readonly capacity: string;
  readonly token?: string;
  readonly json?: boolean;
}

/** `servers`: the agent servers, why one gets no sessions, and how one is emptied. */
export function registerServers(program: Command, io: CommandIo): void {
  const servers = program
    .command('servers')
    .description('Lists the agent servers and why one gets no sessions.')
    .option('--json', 'as JSON')
    .action((options: { json?: boolean }) => list(options.json === true, io));
  servers
    .command('drain')
    .description(
      'Gives a server no more sessions; what runs there finishes, or is stored at the deadline and goes on elsewhere.',
    )
    .argument('<name>')
    .option('--deadline <seconds>', 'when what still runs there is stored and goes on on other servers')
    .option('--wait', 'until it holds nothing any more')
    .action((name: string, options: DrainOptions) => drain(name, options, io));
  servers
    .command('undrain')
    .description('Gives a drained server sessions again.')
    .argument('<name>')
    .action((name: string) => change(name, 'undrain', 'is in use again', io));
  servers
    .command('invite')
    .description('Gives a token with which one new server joins: for one use, this key and a day.')
    .requiredOption('--key <file>', 'the public key of the new server, as PEM')
    .requiredOption('--capacity <slots>', 'slots that it may have')
    .option('--pool <name>', 'the pool that it joins', 'default')
    .option('--json', 'as JSON')
    .action((options: InviteOptions) => invite(options, io));
  servers
    .command('join')
    .description('On the new server: makes its key; with the token, hands it in and writes the certificate.')
    .requiredOption('--to <folder>', 'folder of key and certificate')
    .option('--fleet <url>', 'the fleet’s public API')
    .option('--address <url>', 'https://HOST:PORT where dispatchers reach this server')
    .option('--capacity <slots>', 'slots that it has', '2')
    .option('--token <token>', 'from servers invite; LEMNISCATE_JOIN_TOKEN where it is absent')
    .option('--json', 'as JSON: the public key’s file, or the server and its variables; never a key')
    .action((options: JoinOptions) => join(options, io));
  servers
    .command('approve')
    .description('Lets a newcomer use all its slots; gives one that failed another chance at once.')
    .argument('<name>')
    .action((name: string) => change(name, 'approve', 'is approved', io));
}

async function invite(options: InviteOptions, io: CommandIo): Promise<void> {
  const publicKeyPem = await readFile(options.key, 'utf8').catch((error: unknown) => {
    throw new CodedError('request_invalid', `--key: ${options.key} cannot be read.`, {}, error);
  });
  const client = await connectFleet(io);
  const given = await ask(
    client.api.POST('/v1/server-invitations', {
      body: { publicKeyPem, pool: options.pool, capacity: slotsOf(options.capacity) },
    }),
  );
  if (options.json === true) return printJson(io, given);
  io.stdout.write(`${given.token}\n`);
  io.stderr.write(
    `For one use by this key, until ${given.expiresAt}. Set it as LEMNISCATE_JOIN_TOKEN there.\n`,
  );
}

async function join(options: JoinOptions, io: CommandIo): Promise<void> {
  const capacity = slotsOf(options.capacity);
  const key = await ownServerKey(options.to);
  const token = options.token ?? io.env['LEMNISCATE_JOIN_TOKEN'];
  const json = options.json === true;
  if (token === undefined) {
    if (json) return printJson(io, { publicFile: key.publicFile, capacity });
    io.stdout.write(
      `${key.publicFile}\nHave an operator run, with this file: lemniscate servers invite --key FILE --capacity ${capacity}\nThen join with --token.\n`,
    );
    return undefined;
  }
  const { fleet, address } = options;
  if (fleet === undefined || address === undefined)
    throw new CodedError('request_invalid', 'To join, name --fleet URL and --address https://HOST:PORT.');
  const joined = await joinServer({ fleet, token, address, capacity, folder: options.to, key });
  if (json) return printJson(io, joined);
  io.stdout.write(`Joined as ${makeVisible(joined.serverId)}. Start the agent server with:\n`);
  for (const [name, value] of Object.entries(joined.variables))
    io.stdout.write(`${name}=${makeVisible(value)}\n`);
  return undefined;
}

function slotsOf(text: string): number {
  const slots = Number(text);
  if (Number.isSafeInteger(slots) && slots > 0) return slots;
  throw new CodedError('request_invalid', `--capacity must be a whole number above 0; "${text}" is none.`);
}

async function list(json: boolean, io: CommandIo): Promise<void> {
  const servers = await readServers(await connectFleet(io));
  if (json) return printJson(io, servers);
  writeTable(
    io.stdout,
    servers.map((each) => [
      each.id,
      each.pool,
      `${each.held}/${each.capacity} slots`,
      `${each.warm} warm`,
      each.outBecause === null ? clampOf(each) : `out: ${each.outBecause}`,
    ]),
  );
  if (servers.length === 0) io.stdout.write('There are none. Name them in AGENT_SERVERS.\n');
}

function clampOf(server: ServerView): string {
  return server.clamp === null ? 'in use' : `in use, ${server.clamp} slots until it is proved or approved`;
}

async function readServers(client: ApiClient): Promise<ServerView[]> {
  return (await ask(client.api.GET('/v1/servers'))).servers;
}

/** The server as it is now, for its change. */
async function seenServer(client: ApiClient, name: string): Promise<{ 'if-match': string }> {
  return seenHeader((await readServers(client)).find(({ id }) => id === name));
}

async function change(name: string, what: 'undrain' | 'approve', said: string, io: CommandIo): Promise<void> {
  const client = await connectFleet(io);
  const params = { path: { id: name }, header: await seenServer(client, name) };
  if (what === 'approve') await ask(client.api.PUT('/v1/servers/{id}/approval', { params }));
  else await ask(client.api.DELETE('/v1/servers/{id}/drain', { params }));
  io.stdout.write(`${makeVisible(name)} ${said}.\n`);
}

async function drain(name: string, options: DrainOptions, io: CommandIo): Promise<void> {
  const seconds = options.deadline === undefined ? undefined : Number(options.deadline);
  if (seconds !== undefined && !(Number.isSafeInteger(seconds) && seconds >= 0))
    throw new CodedError(
      'request_invalid',
      `--deadline must be whole seconds; "${options.deadline}" is none.`,
    );
  const client = await connectFleet(io);
  await ask(
    client.api.PUT('/v1/servers/{id}/drain', {
      params: { path: { id: name }, header: await seenServer(client, name) },
      body: seconds === undefined ? {} : { deadlineSeconds: seconds },
    }),
  );
  if (options.wait !== true) {
    const then =
      seconds === undefined
        ? ''
        : ` What still runs there in ${seconds} seconds is stored and goes on on another server.`;
    io.stdout.write(`${makeVisible(name)} gets no more sessions.${then}\n`);
    return;
  }
  const { outBecause } = await untilEmpty(client, name, io);
  io.stdout.write(`${makeVisible(name)} is empty (${makeVisible(outBecause ?? '')}).\n`);
}

/** Waits until a drained server holds nothing. @throws CodedError `server_unknown`, `version_conflict` */
async function untilEmpty(client: ApiClient, name: string, io: CommandIo): Promise<ServerView> {
  for (let shown = -1; ; await delay(500)) {
    const server = (await readServers(client)).find(({ id }) => id === name);
    if (server === undefined)
      throw new CodedError(
        'server_unknown',
        `Agent server "${name}" has left the fleet while it was being emptied, so nobody can say what it still holds. "lemniscate sessions" shows what goes on elsewhere.`,
        { server: name },
      );
    if (!server.drained)
      throw new CodedError(
        'version_conflict',
        `Agent server "${name}" is in use again: somebody ended the drain. It will not become empty.`,
        { server: name },
      );
    if (server.held === 0) return server;
    if (server.held !== shown) io.stderr.write(`${makeVisible(name)} still holds ${server.held}.\n`);
    shown = server.held;
  }
}
