import { z } from 'zod';
import {
  begunDeviceLoginSchema,
  loginOptionsSchema,
  newLoginSchema,
} from '@lemniscate/shared/api/identity.ts';
import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import {
  beginBrowserLogin,
  beginDeviceLogin,
  finishBrowserLogin,
  finishDeviceLogin,
} from '../application/access/login-flows.ts';
import type { LoginFlowDeps } from '../application/access/login-flows.ts';
import type { LoginFailures } from '../application/access/login-failures.ts';
import type { App } from './app.ts';
import { callerAddress } from './caller-address.ts';
import { beginningsRate } from './rate-limit.ts';
import { flowOf, forgetFlowCookie, setFlowCookie, setLoginCookie } from './credentials.ts';

export interface LoginRouteDeps extends LoginFlowDeps {
  readonly loginFailures: LoginFailures;
  /** Where people reach this listener: its origin is what the issuer sends browsers back to. */
  readonly publicUrl: () => URL;
}

const callbackPath = '/v1/login/callback';

/** Public listener, open to all: how a person gets in. */
export function registerLoginRoutes(app: App, deps: LoginRouteDeps): void {
  const redirectUri = (): string => new URL(callbackPath, deps.publicUrl()).href;
  const secure = (): boolean => deps.publicUrl().protocol === 'https:';

  app.get('/v1/login/options', { schema: { response: { 200: loginOptionsSchema } } }, () => ({
    kind: deps.issuer === null ? ('local' as const) : ('oidc' as const),
  }));

  app.get(
    '/v1/login',
    {
      config: beginningsRate,
      schema: { querystring: z.object({ returnTo: z.string().max(1_024).default('/') }) },
    },
    async (request, reply) => {
      const { returnTo } = request.query;
      const begun = await beginBrowserLogin(deps, { redirectUri: redirectUri(), returnTo });
      setFlowCookie(reply, begun.handle, begun.seconds, secure());
      return reply.header('cache-control', 'no-store').redirect(begun.url, 302);
    },
  );

  app.get(callbackPath, async (request, reply) => {
    deps.loginFailures.admit(callerAddress(request));
    forgetFlowCookie(reply, secure());
    const query = request.raw.url?.split('?')[1] ?? '';
    const login = await finishBrowserLogin(deps, flowOf(request), query).catch((error: unknown) =>
      Promise.reject(noted(callerAddress(request), error)),
    );
    setLoginCookie(reply, login.token, login.expiresAt, secure());
    return reply.header('cache-control', 'no-store').redirect(login.returnTo, 302);
  });

  app.post(
    '/v1/login/device',
    { config: beginningsRate, schema: { response: { 200: begunDeviceLoginSchema } } },
    async (request, reply) => {
      deps.loginFailures.admit(callerAddress(request));
      void reply.header('cache-control', 'no-store');
      return beginDeviceLogin(deps);
    },
  );

  app.post(
    '/v1/login/device/finish',
    {
      schema: { body: z.strictObject({ handle: z.string().max(100) }), response: { 200: newLoginSchema } },
    },
    async (request, reply) => {
      deps.loginFailures.admit(callerAddress(request));
      const { token, expiresAt, person } = await finishDeviceLogin(deps, request.body.handle).catch(
        (error: unknown) => Promise.reject(noted(callerAddress(request), error)),
      );
      void reply.header('cache-control', 'no-store');
      return { token, expiresAt, subject: person.subject, name: person.name };
    },
  );

  const noted = (address: string, error: unknown): unknown => {
    if (!isCodedError(error) || error.code === 'login_pending' || error.status >= 500) return error;
    deps.loginFailures.failed(address, error.code);
    return error.code === 'unauthenticated'
      ? new CodedError('login_failed', error.message, {}, error)
      : error;
  };
}
