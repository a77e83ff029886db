import type { Authenticator } from '../identity.ts';
import type { PeopleMap } from '../ports/people-map.ts';
import type { Transaction } from '../ports/transaction.ts';

/**
 * Gives everybody who comes in their pseudonym before they act. Their entries then only read the map, and no two
 * transactions wait for each other over a row of it.
 */
export function withPseudonyms(
  authenticator: Authenticator,
  people: PeopleMap,
  database: Transaction,
): Authenticator {
  return {
    ...authenticator,
    authenticate: async (...given) => {
      const person = await authenticator.authenticate(...given);
      await people.pseudonyms(database, [person.subject]);
      return person;
    },
  };
}
