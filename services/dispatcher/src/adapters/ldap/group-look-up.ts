import { Client, EqualityFilter } from 'ldapts';
import type { Secret } from '@lemniscate/shared/config/secret.ts';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { LookUpGroups } from '../../application/ports/issuer.ts';

export interface LdapOptions {
  /** `ldaps://…`; plain `ldap://` is for loopback alone. */
  readonly url: string;
  readonly bindDn: string;
  readonly bindPassword: Secret;
  readonly userBase: string;
  /** Attribute of a person that holds what the issuer says of them: their e-mail address or subject. */
  readonly userAttribute: string;
  readonly userClaim: 'email' | 'subject';
  readonly groupBase: string;
  /** Attribute of a group that lists its members by distinguished name. */
  readonly memberAttribute: string;
  readonly groupNameAttribute: string;
}

const timeoutMs = 5_000;
const maxGroups = 1_000;

/**
 * Groups of a person in an LDAP directory. Filters are built as filters and never as text, so that a hostile name is
 * only ever a value. A person whom the directory does not have, or has twice, gets no group from it.
 * @throws CodedError `service_unreachable`: without its word nobody is let in with fewer or more roles
 */
export function createLdapGroups(options: LdapOptions): LookUpGroups {
  return async (person) => {
    const wanted = options.userClaim === 'email' ? person.email : person.subject;
    if (wanted === null) return [];
    const client = new Client({
      url: options.url,
      timeout: timeoutMs,
      connectTimeout: timeoutMs,
      strictDN: true,
    });
    try {
      await client.bind(options.bindDn, options.bindPassword.reveal());
      const people = await client.search(options.userBase, {
        scope: 'sub',
        filter: new EqualityFilter({ attribute: options.userAttribute, value: wanted }),
        attributes: ['dn'],
        sizeLimit: 2,
        timeLimit: timeoutMs / 1_000,
      });
      const [found, second] = people.searchEntries;
      if (found === undefined || second !== undefined) return [];
      const groups = await client.search(options.groupBase, {
        scope: 'sub',
        filter: new EqualityFilter({ attribute: options.memberAttribute, value: found.dn }),
        attributes: [options.groupNameAttribute],
        sizeLimit: maxGroups,
        timeLimit: timeoutMs / 1_000,
      });
      return groups.searchEntries.flatMap((entry) =>
        [entry[options.groupNameAttribute]].flat().filter((name) => typeof name === 'string'),
      );
    } catch (error) {
      throw new CodedError(
        'service_unreachable',
        'The directory (LEMNISCATE_LDAP_URL) does not tell the groups. Try again, or ask an operator.',
        {},
        error,
      );
    } finally {
      await client.unbind().catch(() => undefined);
    }
  };
}
