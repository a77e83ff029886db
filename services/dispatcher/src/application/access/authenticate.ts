import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { Authenticator, Person, TokenAudience } from '../identity.ts';
import type { Issuer } from '../ports/issuer.ts';
import type { Transaction } from '../ports/transaction.ts';
import { authenticateLogin, loginTokenPrefix, personOfDirectory } from './logins.ts';
import type { FirstAdministrators } from './logins.ts';
import { authenticateToken, serviceTokenPrefix } from './service-tokens.ts';

/** Checks a token that the issuer itself has made for this API or the MCP endpoint. @throws CodedError `unauthenticated` */
export type VerifyIssued = (token: string, audience: TokenAudience) => Promise<Person>;

export interface AuthenticatorDeps {
  readonly database: Transaction;
  readonly administrators: FirstAdministrators;
  /** The login of a local fleet; null where there is none. */
  readonly local: Authenticator | null;
  /** Null where no issuer makes tokens for this API. */
  readonly verifyIssued: VerifyIssued | null;
}

/** Tells by its form whose word a token is, and asks there alone. */
export function createAuthenticator(deps: AuthenticatorDeps): Authenticator {
  return {
    authenticate: async (token, audience = 'api') => {
      if (token === null) throw nothingSent();
      if (token.startsWith(serviceTokenPrefix)) return authenticateToken(deps.database, token);
      if (token.startsWith(loginTokenPrefix)) return authenticateLogin(deps, token);
      if (deps.verifyIssued !== null && token.split('.').length === 3)
        return deps.verifyIssued(token, audience);
      if (deps.local !== null) return deps.local.authenticate(token);
      throw new CodedError('unauthenticated', 'The login is not known here. Log in with: lemniscate login.');
    },
  };
}

function nothingSent(): CodedError {
  return new CodedError(
    'unauthenticated',
    'No login was sent. Send it as "Authorization: Bearer TOKEN"; "lemniscate login" gets one.',
  );
}

/**
 * Whose token of the issuer it is, with the roles of its groups. Nobody sat in front of it: it is automation.
 * @throws CodedError `unauthenticated`
 */
export async function authenticateIssued(
  deps: { readonly database: Transaction; readonly administrators: FirstAdministrators },
  issuer: Issuer,
  token: string,
  audience: TokenAudience,
): Promise<Person> {
  return personOfDirectory(deps, await issuer.verifyAccessToken(token, audience));
}
