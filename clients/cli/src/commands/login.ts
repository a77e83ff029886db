import { ask } from '@lemniscate/api/client.ts';
import { setTimeout as delay } from 'node:timers/promises';
import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { makeVisible } from '@lemniscate/shared/text/visible.ts';
import type { Command } from 'commander';
import { createApiClient } from '../api-client.ts';
import { findUrl } from '../endpoint.ts';
import type { CommandIo } from '../io.ts';
import { forgetLogin, readStoredLogin, storeLogin } from '../stored-logins.ts';
import { connectFleet, printJson } from './context.ts';

async function fleetUrl(given: string | undefined, io: CommandIo): Promise<string> {
  if (given !== undefined && !URL.canParse(given))
    throw new CodedError(
      'request_invalid',
      `${given} is not a URL. Write it as in https://lemniscate.example.org.`,
    );
  const url = given ?? (await findUrl(io.env))?.url;
  if (url !== undefined) return url;
  throw new CodedError(
    'request_invalid',
    'Which fleet? Name it: lemniscate login https://lemniscate.example.org.',
  );
}

/** Shows a code, and waits until the person has confirmed it in a browser. */
async function logIn(given: string | undefined, io: CommandIo): Promise<void> {
  const url = await fleetUrl(given, io);
  const client = createApiClient({ url, token: 'none' });
  const { kind } = await ask(client.api.GET('/v1/login/options'));
  if (kind === 'local')
    throw new CodedError(
      'request_invalid',
      `${url} is a local fleet: its login file is used, and there is nothing to do.`,
    );
  const begun = await ask(client.api.POST('/v1/login/device'));
  const where = begun.verificationUriComplete ?? begun.verificationUri;
  io.stdout.write(`Open ${makeVisible(where)}\nand confirm the code ${makeVisible(begun.userCode)}\n`);
  const deadline = Date.now() + begun.expiresInSeconds * 1_000;
  let interval = Math.max(1, begun.intervalSeconds);
  while (Date.now() < deadline) {
    await delay(interval * 1_000, undefined, { signal: io.signal });
    try {
      const body = { handle: begun.handle };
      const login = await ask(client.api.POST('/v1/login/device/finish', { body }));
      await storeLogin(io.env, url, login);
      io.stdout.write(`Logged in to ${url} as ${makeVisible(login.name)} until ${login.expiresAt}.\n`);
      return;
    } catch (error) {
      if (!isCodedError(error, 'login_pending')) throw error;
      // RFC 8628 section 3.5
      if (error.details['why'] === 'slow_down') interval += 5;
    }
  }
  throw new CodedError('login_failed', 'Nobody confirmed the code in time. Run the command again.');
}

async function logOut(io: CommandIo): Promise<void> {
  const url = await fleetUrl(undefined, io);
  const login = await readStoredLogin(io.env, url);
  if (login === null) {
    io.stdout.write(`There is no login for ${url}.\n`);
    return;
  }
  // The file is emptied also when the fleet knows the login no more.
  await createApiClient({ url, token: login.token })
    .open('/v1/logout', { method: 'POST' })
    .catch((error: unknown) => {
      if (!isCodedError(error, 'unauthenticated') && !isCodedError(error, 'login_revoked')) throw error;
    });
  await forgetLogin(io.env, url);
  io.stdout.write(`Logged out of ${url}.\n`);
}

async function whoAmI(io: CommandIo, json: boolean): Promise<void> {
  const client = await connectFleet(io);
  const me = await ask(client.api.GET('/v1/me'));
  if (json) return printJson(io, me);
  const roles = [
    ...me.roles.map((role) => `${role} everywhere`),
    ...Object.entries(me.projects).map(([project, held]) => `${held.join(', ')} of ${project}`),
  ];
  io.stdout.write(`${makeVisible(me.name)} (${makeVisible(me.subject)}, ${me.kind}) at ${client.url}\n`);
  io.stdout.write(`${roles.length === 0 ? 'no role: ask an administrator' : roles.join('; ')}\n`);
  return undefined;
}

/** `lemniscate login`, `logout` and `whoami`. */
export function registerLogin(program: Command, io: CommandIo): void {
  program
    .command('login')
    .description('Logs in to a fleet with your organisation’s login, confirmed in a browser on any device.')
    .argument('[url]', 'the fleet; without it LEMNISCATE_URL or the last one')
    .action((url: string | undefined) => logIn(url, io));
  program
    .command('logout')
    .description('Ends the login that is kept on this machine.')
    .action(() => logOut(io));
  program
    .command('whoami')
    .description('Shows who you are to the fleet and what you may do.')
    .option('--json', 'as JSON')
    .action((options: { json?: boolean }) => whoAmI(io, options.json === true));
}
