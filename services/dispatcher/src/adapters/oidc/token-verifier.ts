import { createRemoteJWKSet, customFetch, errors, jwtVerify } from 'jose';
import type { JWTPayload } from 'jose';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { createBoundedFetch } from '../outgoing/bounded-answer.ts';

export interface TokenVerifierOptions {
  readonly issuer: string;
  readonly keysUrl: URL;
  readonly skewSeconds: number;
  /** How often at most an unknown key makes it ask for the keys again. Milliseconds. */
  readonly keysCooldownMs: number;
}

/**
 * Checks signature, issuer, audience and times; keys are read again when an unknown one signs. An ID token is also held
 * to the party that asked for it; in an access token that is whichever client the person uses, and the audience decides.
 */
export type TokenVerifier = (
  token: string,
  /** Any of them will do. */
  audience: string | readonly string[],
  of: 'id' | 'access',
) => Promise<JWTPayload>;

/** Asymmetric only: with a shared secret whoever checks could also sign. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];

/** A key with its certificates is a few KB, and an issuer has a handful. */
const mostKeyBytes = 1024 * 1024;

export function createTokenVerifier(options: TokenVerifierOptions): TokenVerifier {
  const keys = createRemoteJWKSet(options.keysUrl, {
    cooldownDuration: options.keysCooldownMs,
    cacheMaxAge: 10 * 60_000,
    timeoutDuration: 5_000,
    [customFetch]: createBoundedFetch(mostKeyBytes),
  });
  return async (token, audience, of) => {
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer: options.issuer,
        audience: typeof audience === 'string' ? audience : [...audience],
        clockTolerance: options.skewSeconds,
        algorithms,
        requiredClaims: ['sub', 'exp', 'iat'],
      });
      if (of === 'id') requireAskedByUs(payload, audience);
      return payload;
    } catch (error) {
      throw toCoded(error);
    }
  };
}

/** OpenID Connect Core 3.1.3.7, steps 4 and 5: a token for several parties says who asked for it, and that was us. */
function requireAskedByUs({ aud, azp }: JWTPayload, audience: string | readonly string[]): void {
  const several = Array.isArray(aud) && aud.length > 1;
  if (azp === undefined ? !several : [audience].flat().includes(azp as string)) return;
  throw new CodedError('unauthenticated', 'The token was made for somebody else (azp).');
}

function toCoded(error: unknown): unknown {
  if (error instanceof errors.JWKSTimeout || error instanceof TypeError)
    return new CodedError('service_unreachable', 'The issuer does not give its keys.', {}, error);
  if (error instanceof errors.JWTExpired)
    return new CodedError('unauthenticated', 'The token has expired. Log in again.', {}, error);
  if (error instanceof errors.JWTClaimValidationFailed)
    return new CodedError('unauthenticated', `The token does not fit (${error.claim}).`, {}, error);
  // Some failures to read the keys are plain JOSEErrors: an answer of 500, a text that is no key set.
  if (error instanceof errors.JOSEError && error.code === 'ERR_JOSE_GENERIC')
    return new CodedError('service_unreachable', 'The issuer does not give its keys.', {}, error);
  if (error instanceof errors.JOSEError)
    return new CodedError('unauthenticated', `The token is not valid (${error.code}).`, {}, error);
  return error;
}
