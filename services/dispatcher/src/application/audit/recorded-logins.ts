import { fleetChain } from '@lemniscate/shared/audit/entry.ts';
import type { Clock } from '@lemniscate/shared/clock.ts';
import { loginTokenPrefix } from '../access/logins.ts';
import { serviceTokenPrefix } from '../access/service-tokens.ts';
import { tokenHash } from '../access/token-hash.ts';
import type { Authenticator, Person } from '../identity.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Database } from '../ports/transaction.ts';

export interface RecordedLoginsDeps {
  readonly database: Database;
  readonly audit: AuditLog;
  readonly clock: Clock;
}

/** A credential that is used for longer than this is recorded again. */
const againMs = 24 * 3_600_000;
/** Credentials that are remembered; one that was forgotten is recorded once more. */
const mostKnown = 10_000;

/**
 * Records the first use of each credential that no login of ours has made: the local fleet's own, service tokens and the
 * issuer's. Browser and device logins are recorded where they are made. The entry is durable before anybody is let in.
 */
export function withLoginsRecorded(
  authenticator: Authenticator,
  { database, audit, clock }: RecordedLoginsDeps,
): Authenticator {
  const known = new Map<string, number>();
  return {
    ...authenticator,
    authenticate: async (...given) => {
      const person = await authenticator.authenticate(...given);
      const [token, audience = 'api'] = given;
      const how = token === null ? null : howOf(token, person);
      if (token === null || how === null) return person;
      const hash = tokenHash(token).toString('base64');
      const now = clock.now().getTime();
      if (now - (known.get(hash) ?? -Infinity) < againMs) return person;
      const body = { how, audience, kind: person.kind, credential: audit.commit('credential', hash) };
      await database.transaction((tx) =>
        audit.append(tx, fleetChain, [{ type: 'login.accepted', subject: person.subject, body }]),
      );
      known.delete(hash);
      known.set(hash, now);
      const [oldest] = known.keys();
      if (known.size > mostKnown && oldest !== undefined) known.delete(oldest);
      return person;
    },
  };
}

/** How somebody came in; null for a login that has its entry already. */
function howOf(token: string, person: Person): 'local' | 'service_token' | 'issued_token' | null {
  if (token.startsWith(loginTokenPrefix)) return null;
  if (token.startsWith(serviceTokenPrefix)) return 'service_token';
  return person.kind === 'human' ? 'local' : 'issued_token';
}
