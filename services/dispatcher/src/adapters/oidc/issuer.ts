import * as openid from 'openid-client';
import type { Clock } from '@lemniscate/shared/clock.ts';
import type { Secret } from '@lemniscate/shared/config/secret.ts';
import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { DirectoryPerson } from '../../application/access/logins.ts';
import type { Issuer, LookUpGroups } from '../../application/ports/issuer.ts';
import { createBoundedFetch } from '../outgoing/bounded-answer.ts';
import { personOfClaims } from './claims.ts';
import { createTokenVerifier } from './token-verifier.ts';
import type { TokenVerifier } from './token-verifier.ts';

export interface IssuerOptions {
  readonly url: URL;
  readonly clientId: string;
  /** Null for a public client. */
  readonly clientSecret: Secret | null;
  /** Who the issuer's access tokens for this API are for; null: none are taken. */
  readonly audience: string | null;
  /** Who they are for at the MCP endpoint: its own address. */
  readonly mcpAudience: () => string;
  readonly scopes: string;
  readonly groupsClaim: string;
  readonly skewSeconds: number;
  readonly keysCooldownMs: number;
  /** Where groups come from, if not from the claims alone. */
  readonly lookUpGroups: LookUpGroups | null;
  readonly clock: Clock;
}

interface Connected {
  readonly client: openid.Configuration;
  readonly verify: TokenVerifier;
}

/** How long what the issuer says of itself is taken as it is. */
const discoveryMs = 10 * 60_000;
/** Of one answer; a token with a person's groups in it is the longest. */
const mostAnswerBytes = 1024 * 1024;
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

/**
 * Any OpenID Connect issuer. It is asked for the first time when somebody logs in, so that a fleet starts, and serves
 * those who are in, while the issuer is away.
 */
export function createIssuer(options: IssuerOptions): Issuer {
  let connected: { readonly at: number; readonly value: Promise<Connected> } | null = null;

  const connect = async (): Promise<Connected> => {
    const { url, clientId, clientSecret } = options;
    const client = await openid
      .discovery(
        url,
        clientId,
        { [openid.clockTolerance]: options.skewSeconds },
        clientSecret === null ? openid.None() : openid.ClientSecretPost(clientSecret.reveal()),
        {
          timeout: 10,
          [openid.customFetch]: createBoundedFetch(mostAnswerBytes),
          // The configuration lets plain HTTP through for loopback alone.
          ...(url.protocol === 'http:' ? { execute: [openid.allowInsecureRequests] } : {}),
        },
      )
      .catch((error: unknown) => Promise.reject(unreachable(url, error)));
    const { issuer, jwks_uri: keys } = client.serverMetadata();
    if (keys === undefined)
      throw new CodedError(
        'configuration_invalid',
        `LEMNISCATE_OIDC_ISSUER: ${url.href} names no keys (jwks_uri).`,
      );
    const { skewSeconds, keysCooldownMs } = options;
    return {
      client,
      verify: createTokenVerifier({ issuer, keysUrl: new URL(keys), skewSeconds, keysCooldownMs }),
    };
  };
  const issuer = (): Promise<Connected> => {
    const now = options.clock.monotonicMs();
    if (connected === null || now - connected.at > discoveryMs) {
      const value = connect();
      connected = { at: now, value };
      // A failure is not kept: the next login asks again.
      value.catch(() => {
        if (connected?.value === value) connected = null;
      });
    }
    return connected.value;
  };
  const toPerson = async (token: string | undefined, verify: TokenVerifier, nonce: string | null) => {
    if (token === undefined)
      throw new CodedError('login_failed', 'The issuer gave no ID token. Its client needs the scope openid.');
    const claims = await verify(token, options.clientId, 'id');
    if (nonce !== null && claims['nonce'] !== nonce)
      throw new CodedError('login_failed', 'The ID token belongs to another login (nonce).');
    return withGroups(personOfClaims(claims, options.groupsClaim));
  };
  const withGroups = async (person: DirectoryPerson): Promise<DirectoryPerson> => {
    if (options.lookUpGroups === null) return person;
    const found = await options.lookUpGroups(person);
    return { ...person, groups: [...new Set([...person.groups, ...found])] };
  };

  return {
    beginBrowser: async (redirectUri) => {
      const { client } = await issuer();
      const codeVerifier = openid.randomPKCECodeVerifier();
      const flow = { state: openid.randomState(), nonce: openid.randomNonce(), codeVerifier, redirectUri };
      const url = openid.buildAuthorizationUrl(client, {
        redirect_uri: redirectUri,
        scope: options.scopes,
        state: flow.state,
        nonce: flow.nonce,
        code_challenge: await openid.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
      });
      return { url: url.href, flow };
    },
    finishBrowser: async (flow, callback) => {
      const { client, verify } = await issuer();
      const { id_token: token } = await openid
        .authorizationCodeGrant(client, callback, {
          expectedState: flow.state,
          expectedNonce: flow.nonce,
          pkceCodeVerifier: flow.codeVerifier,
          idTokenExpected: true,
        })
        .catch((error: unknown) => Promise.reject(failed(options.url, error)));
      return toPerson(token, verify, flow.nonce);
    },
    beginDevice: async () => {
      const { client } = await issuer();
      if (client.serverMetadata().device_authorization_endpoint === undefined)
        throw new CodedError(
          'login_failed',
          'The issuer has no device login. Use a service token, or the console.',
        );
      const begun = await openid
        .initiateDeviceAuthorization(client, { scope: options.scopes })
        .catch((error: unknown) => Promise.reject(failed(options.url, error)));
      return {
        deviceCode: begun.device_code,
        userCode: begun.user_code,
        verificationUri: begun.verification_uri,
        verificationUriComplete: begun.verification_uri_complete ?? null,
        intervalSeconds: begun.interval ?? 5,
        expiresInSeconds: begun.expires_in,
      };
    },
    finishDevice: async (deviceCode) => {
      const { client, verify } = await issuer();
      const { id_token: token } = await openid
        .genericGrantRequest(client, deviceGrant, { device_code: deviceCode })
        .catch((error: unknown) => Promise.reject(failed(options.url, error)));
      return toPerson(token, verify, null);
    },
    verifyAccessToken: async (token, audience) => {
      const wanted = [options.audience, audience === 'mcp' ? options.mcpAudience() : null].filter(
        (one) => one !== null,
      );
      if (wanted.length === 0)
        throw new CodedError(
          'unauthenticated',
          'Tokens of the issuer are not taken here. Make a service token.',
        );
      const { verify } = await issuer();
      return withGroups(personOfClaims(await verify(token, wanted, 'access'), options.groupsClaim));
    },
  };
}

function unreachable(url: URL, cause: unknown): CodedError {
  return new CodedError(
    'service_unreachable',
    `The issuer ${url.href} does not answer as an OpenID Connect issuer. Try again, or check LEMNISCATE_OIDC_ISSUER.`,
    { issuer: url.href },
    cause,
  );
}

const pending: readonly string[] = ['authorization_pending', 'slow_down'];

/** The issuer's word on a login. Its sentence is not passed on: it may hold what a person typed. */
function failed(url: URL, error: unknown): unknown {
  if (isCodedError(error)) return error;
  const code = error instanceof openid.ResponseBodyError ? error.error : null;
  if (code !== null && pending.includes(code))
    return new CodedError('login_pending', 'The person has not confirmed the login yet.', { why: code });
  if (
    code !== null ||
    error instanceof openid.AuthorizationResponseError ||
    error instanceof openid.ClientError
  )
    return new CodedError(
      'login_failed',
      `The issuer refused the login (${code ?? 'answer does not fit'}).`,
      {},
      error,
    );
  return unreachable(url, error);
}
