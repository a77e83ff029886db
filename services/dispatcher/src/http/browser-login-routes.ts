import { browserLinkSchema, browserLoginSchema } from '@lemniscate/shared/api/browser-login.ts';
import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { BrowserLinks } from '../application/access/browser-links.ts';
import type { LoginFailures } from '../application/access/login-failures.ts';
import type { Authenticator, Person } from '../application/identity.ts';
import type { App } from './app.ts';
import { callerAddress } from './caller-address.ts';
import { refuseForeignPage, setLoginCookie, tokenOf } from './credentials.ts';
import { personOf } from './identity.ts';

export interface BrowserLoginDeps {
  readonly browserLinks: BrowserLinks;
  readonly authenticator: Authenticator;
  readonly loginFailures: LoginFailures;
  /** Where people reach this listener. */
  readonly publicUrl: () => URL;
}

/** A login without an end of its own lasts a working day in a browser. Milliseconds. */
const longestMs = 12 * 3_600_000;

/** Public listener: how the login of a terminal gets into a browser of the same person. */
export function registerBrowserLoginRoutes(app: App, deps: BrowserLoginDeps): void {
  app.post(
    '/v1/login/links',
    { schema: { response: { 201: browserLinkSchema } } },
    async (request, reply) => {
      requireHuman(personOf(request));
      const token = tokenOf(request)?.token ?? '';
      return reply.code(201).header('cache-control', 'no-store').send(deps.browserLinks.offer(token));
    },
  );

  app.post('/v1/login/browser', { schema: { body: browserLoginSchema } }, async (request, reply) => {
    refuseForeignPage(request);
    deps.loginFailures.admit(callerAddress(request));
    try {
      const { code, token: sent } = request.body;
      const token = code === undefined ? (sent ?? null) : deps.browserLinks.redeem(code);
      const person = await deps.authenticator.authenticate(token);
      requireHuman(person);
      const until = person.expiresAt ?? new Date(Date.now() + longestMs).toISOString();
      setLoginCookie(reply, token ?? '', until, deps.publicUrl().protocol === 'https:');
    } catch (error) {
      if (isCodedError(error) && error.status === 401)
        deps.loginFailures.failed(callerAddress(request), error.code);
      throw error;
    }
    return reply.code(204).send();
  });
}

function requireHuman(person: Person): void {
  if (person.kind !== 'human')
    throw new CodedError('forbidden', `${person.name} is a program, and a browser's login is a person's.`);
}
