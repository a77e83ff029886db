import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { BrowserFlow, DeviceFlow, Issuer } from '../ports/issuer.ts';
import type { Transaction } from '../ports/transaction.ts';
import { openLogin } from './logins.ts';
import type { LoginDeps, NewLogin } from './logins.ts';
import { tokenHash } from './token-hash.ts';

export interface LoginFlowDeps extends LoginDeps {
  readonly issuer: Issuer | null;
}

/** How long a browser may be away at the issuer. Seconds. */
const browserSeconds = 600;
/** Flows that may be open at the same time: whoever begins them has no login yet. */
const maxOpenFlows = 10_000;

interface BrowserState extends BrowserFlow {
  readonly returnTo: string;
}

/** The issuer, where one is configured. @throws CodedError `login_failed` */
function requireIssuer(deps: LoginFlowDeps): Issuer {
  if (deps.issuer !== null) return deps.issuer;
  throw new CodedError('login_failed', 'No issuer is configured here (LEMNISCATE_OIDC_ISSUER).');
}

/** A path of this origin, and nothing that a browser could read as another origin. */
function safePath(path: string): string {
  return /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(path) ? path : '/';
}

/**
 * Begins a login in the browser.
 * @returns where to send it, and the handle that its cookie keeps: without it the answer is worth nothing
 */
export async function beginBrowserLogin(
  deps: LoginFlowDeps,
  request: { readonly redirectUri: string; readonly returnTo: string },
): Promise<{ readonly url: string; readonly handle: string; readonly seconds: number }> {
  const { url, flow } = await requireIssuer(deps).beginBrowser(request.redirectUri);
  const state: BrowserState = { ...flow, returnTo: safePath(request.returnTo) };
  const handle = deps.newSecret();
  await keepFlow(deps.database, handle, 'browser', state, browserSeconds);
  return { url, handle, seconds: browserSeconds };
}

/**
 * Ends a login in the browser; each begun one ends once.
 * @throws CodedError `login_failed`, `login_revoked`
 */
export async function finishBrowserLogin(
  deps: LoginFlowDeps,
  handle: string | null,
  query: string,
): Promise<NewLogin & { readonly returnTo: string }> {
  const issuer = requireIssuer(deps);
  const state = handle === null ? null : await takeFlow<BrowserState>(deps.database, handle, 'browser');
  if (state === null)
    throw new CodedError(
      'login_failed',
      'This login was not begun in this browser, or took too long. Begin again.',
    );
  const person = await issuer.finishBrowser(state, new URL(`${state.redirectUri}?${query}`));
  return { ...(await openLogin(deps, person, 'browser')), returnTo: state.returnTo };
}

/** What a client shows to its person, and the handle to ask with. */
export interface BegunDeviceLogin extends Omit<DeviceFlow, 'deviceCode'> {
  readonly handle: string;
}

/** Begins a login with a code that the person confirms in a browser anywhere. */
export async function beginDeviceLogin(deps: LoginFlowDeps): Promise<BegunDeviceLogin> {
  const { deviceCode, ...shown } = await requireIssuer(deps).beginDevice();
  const handle = deps.newSecret();
  await keepFlow(deps.database, handle, 'device', { deviceCode }, shown.expiresInSeconds);
  return { ...shown, handle };
}

/**
 * Asks whether the person has confirmed.
 * @throws CodedError `login_pending` to ask again after the interval; `login_failed`, `login_revoked`
 */
export async function finishDeviceLogin(deps: LoginFlowDeps, handle: string): Promise<NewLogin> {
  const issuer = requireIssuer(deps);
  const [row] = await deps.database.query<{ state: { deviceCode: string } }>(
    `SELECT state FROM login_flows WHERE handle_hash = $1 AND kind = 'device' AND expires_at > now()`,
    [tokenHash(handle)],
  );
  if (row === undefined) throw new CodedError('login_failed', 'This login took too long. Begin again.');
  const person = await issuer.finishDevice(row.state.deviceCode);
  // The issuer redeems a code once; of two who ask at the same moment one has got its answer.
  await takeFlow(deps.database, handle, 'device');
  return openLogin(deps, person, 'device');
}

async function keepFlow(
  database: Transaction,
  handle: string,
  kind: 'browser' | 'device',
  state: object,
  seconds: number,
): Promise<void> {
  await database.query('DELETE FROM login_flows WHERE expires_at < now()');
  const kept = await database.query(
    `INSERT INTO login_flows (handle_hash, kind, state, expires_at)
     SELECT $1, $2, $3, now() + $4 * interval '1 second'
     WHERE (SELECT count(*) FROM login_flows) < ${maxOpenFlows} RETURNING kind`,
    [tokenHash(handle), kind, JSON.stringify(state), Math.min(seconds, 3_600)],
  );
  if (kept.length === 0)
    throw new CodedError('rate_limited', 'Too many logins have begun and not ended. Try again in a minute.', {
      retryAfterSeconds: 60,
    });
}

async function takeFlow<State>(
  database: Transaction,
  handle: string,
  kind: 'browser' | 'device',
): Promise<State | null> {
  const [row] = await database.query<{ state: State; over: boolean }>(
    `DELETE FROM login_flows WHERE handle_hash = $1 AND kind = $2 RETURNING state, expires_at <= now() AS over`,
    [tokenHash(handle), kind],
  );
  return row === undefined || row.over ? null : row.state;
}
