import { ask } from '@lemniscate/api/client.ts';
import { setTimeout as delay } from 'node:timers/promises';
import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { makeVisible } from '@lemniscate/shared/text/visible.ts';
import type { Command } from 'commander';
import { createApiClient } from '../api-client.ts';
import { findUrl } from '../endpoint.ts';
import { exitCodes } from '../io.ts';
import type { CommandIo } from '../io.ts';
import { quoteForShell } from '../shell-word.ts';
import { forgetLogin, readStoredLogin, storeLogin } from '../stored-logins.ts';
import { connectFleet, printJson } from './context.ts';

interface JsonOption {
  readonly json?: boolean;
}

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
async function logIn(given: string | undefined, io: CommandIo, json: boolean): Promise<void> {
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
  const deadline = Date.now() + begun.expiresInSeconds * 1_000;
  if (json)
    printJson(io, { confirmAt: where, code: begun.userCode, until: new Date(deadline).toISOString() });
  else io.stdout.write(`Open ${makeVisible(where)}\nand confirm the code ${makeVisible(begun.userCode)}\n`);
  let interval = Math.max(1, begun.intervalSeconds);
  while (Date.now() < deadline) {
    await delay(interval * 1_000, undefined, { signal: io.signal });
    try {
      const body = { handle: begun.handle };
      const login = await ask(client.api.POST('/v1/login/device/finish', { body }));
      await storeLogin(io.env, url, login);
      // The token is in the file alone: what is printed ends up in logs.
      const { subject, name, expiresAt } = login;
      if (json) printJson(io, { url, subject, name, expiresAt });
      else io.stdout.write(`Logged in to ${url} as ${makeVisible(name)} until ${expiresAt}.\n`);
      return;
    } catch (error) {
      if (!isCodedError(error, 'login_pending')) throw error;
      // RFC 8628 section 3.5
      if (error.details['why'] === 'slow_down') interval += 5;
    }
  }
  throw new CodedError('login_failed', 'Nobody confirmed the code in time. Run the command again.');
}

/** Forgets the login here whatever the fleet says: nobody must stay logged in because a server is away. */
async function logOut(given: string | undefined, io: CommandIo, json: boolean): Promise<void> {
  const url = await fleetUrl(given, io);
  const login = await readStoredLogin(io.env, url);
  if (login === null) {
    if (json) printJson(io, { url, wasLoggedIn: false });
    else io.stdout.write(`There is no login for ${url}.\n`);
    return;
  }
  await forgetLogin(io.env, url);
  const why = await endLogin(url, login.token, io.signal);
  if (json)
    printJson(io, {
      url,
      wasLoggedIn: true,
      endedAtFleet: why === null,
      ...(why === null ? {} : { why, expiresAt: login.expiresAt }),
    });
  else if (why === null) io.stdout.write(`Logged out of ${url}.\n`);
  else
    io.stdout.write(
      `This machine has forgotten its login for ${url}. The fleet could not be told: ${makeVisible(why)}\nUntil ${login.expiresAt} whoever has a copy of the login can use it. An administrator ends it with: lemniscate revoke --user ${quoteForShell(login.subject)}\n`,
    );
  if (why !== null) io.setExitCode(exitCodes.failed);
}

/** Ends a login at its fleet. @returns null, or why it could not be ended; one that the fleet knows no more is ended */
async function endLogin(url: string, token: string, signal: AbortSignal): Promise<string | null> {
  try {
    await createApiClient({ url, token }).open('/v1/logout', { method: 'POST', signal });
    return null;
  } catch (error) {
    if (isCodedError(error, 'unauthenticated') || isCodedError(error, 'login_revoked')) return null;
    if (isCodedError(error)) return error.message;
    if (signal.aborted) return 'it was interrupted.';
    throw error;
  }
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
    .option('--json', 'as JSON, one object a line: where to confirm, then who is logged in')
    .action((url: string | undefined, options: JsonOption) => logIn(url, io, options.json === true));
  program
    .command('logout')
    .description('Ends the login that is kept on this machine; exit 1 when only this machine forgot it.')
    .argument('[url]', 'the fleet; without it LEMNISCATE_URL or the last one')
    .option('--json', 'as JSON')
    .action((url: string | undefined, options: JsonOption) => logOut(url, io, options.json === true));
  program
    .command('whoami')
    .description('Shows who you are to the fleet and what you may do.')
    .option('--json', 'as JSON')
    .action((options: JsonOption) => whoAmI(io, options.json === true));
}
