import type { FastifyReply, FastifyRequest } from 'fastify';
import { parseCookie, stringifySetCookie } from 'cookie';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { isLoopback } from '../domain/loopback.ts';

/**
 * The console's login. `__Host-` binds it to exactly this origin, and browsers take that name over TLS only; the plain
 * one is for a listener that never leaves the machine.
 */
const cookieNames = { secure: '__Host-lemniscate', plain: 'lemniscate' } as const;
/** Ties a login that has begun to the browser in which it did. */
const flowNames = { secure: '__Host-lemniscate-login', plain: 'lemniscate-login' } as const;

/** A token and how it came: what a browser sends by itself needs a proof that a page of ours meant it. */
export interface SentToken {
  readonly token: string;
  readonly by: 'header' | 'cookie';
}

/** The token of a request; null where none was sent. The header wins. */
export function tokenOf(request: FastifyRequest): SentToken | null {
  const { authorization } = request.headers;
  if (authorization !== undefined) {
    const match = /^Bearer ([A-Za-z0-9._~+/=-]{1,4096})$/i.exec(authorization);
    return match?.[1] === undefined ? null : { token: match[1], by: 'header' };
  }
  const token = cookieOf(request, cookieNames);
  return token === undefined || !/^[A-Za-z0-9._~+/=-]{1,4096}$/.test(token) ? null : { token, by: 'cookie' };
}

/**
 * The plain name counts on this machine alone. Elsewhere any host of the same domain could set it, and somebody would work
 * in a stranger's login without knowing: that is what `__Host-` is there to prevent.
 */
function cookieOf(
  request: FastifyRequest,
  names: { readonly secure: string; readonly plain: string },
): string | undefined {
  const cookies = parseCookie(request.headers.cookie ?? '');
  return cookies[names.secure] ?? (isLoopback(request.hostname) ? cookies[names.plain] : undefined);
}

const safeMethods: readonly string[] = ['GET', 'HEAD'];

/**
 * A change that a browser's cookie pays for has to come from a page of this very origin. Browsers say so in headers
 * that no page can set; a request that says nothing is refused.
 * @throws CodedError `forbidden`
 */
export function refuseForeignPage(request: FastifyRequest): void {
  if (safeMethods.includes(request.method)) return;
  const site = request.headers['sec-fetch-site'];
  const { origin } = request.headers;
  const sameSite = site === undefined || site === 'same-origin';
  const sameOrigin = origin !== undefined && hostOf(origin) === request.host;
  if (sameSite && sameOrigin) return;
  throw new CodedError(
    'forbidden',
    'A change with a browser login has to come from a page of this address (Origin). Programs send "Authorization: Bearer TOKEN".',
  );
}

function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}

/** Keeps the login in the browser, out of reach of every script. */
export function setLoginCookie(reply: FastifyReply, token: string, expiresAt: string, secure: boolean): void {
  const name = secure ? cookieNames.secure : cookieNames.plain;
  // Lax, not Strict: the first page after the issuer's redirect has to have it. Changes are guarded by their origin.
  const options = { path: '/', httpOnly: true, sameSite: 'lax', secure } as const;
  void reply.header(
    'set-cookie',
    stringifySetCookie({ name, value: token, ...options, expires: new Date(expiresAt) }),
  );
}

/** Removes the login from the browser. */
export function forgetLoginCookie(reply: FastifyReply): void {
  const gone = { path: '/', httpOnly: true, sameSite: 'lax', maxAge: 0 } as const;
  void reply.header('set-cookie', [
    stringifySetCookie({ name: cookieNames.secure, value: '', ...gone, secure: true }),
    stringifySetCookie({ name: cookieNames.plain, value: '', ...gone, secure: false }),
  ]);
}

/** The handle of the browser's login under way. */
export function flowOf(request: FastifyRequest): string | null {
  return cookieOf(request, flowNames) ?? null;
}

/** Keeps the handle while the browser is at the issuer. */
export function setFlowCookie(reply: FastifyReply, handle: string, seconds: number, secure: boolean): void {
  const name = secure ? flowNames.secure : flowNames.plain;
  const options = { path: '/', httpOnly: true, sameSite: 'lax', secure } as const;
  void reply.header('set-cookie', stringifySetCookie({ name, value: handle, ...options, maxAge: seconds }));
}

export function forgetFlowCookie(reply: FastifyReply, secure: boolean): void {
  const name = secure ? flowNames.secure : flowNames.plain;
  const gone = { path: '/', httpOnly: true, sameSite: 'lax', maxAge: 0, secure } as const;
  void reply.header('set-cookie', stringifySetCookie({ name, value: '', ...gone }));
}
