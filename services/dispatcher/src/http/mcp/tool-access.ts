import { checkAccess } from '../../application/access/access-rule.ts';
import type { AccessPlace } from '../../application/access/access-rule.ts';
import { hasRole } from '../../application/identity.ts';
import type { Person } from '../../application/identity.ts';
import type { Transaction } from '../../application/ports/transaction.ts';
import { rowOf } from '../access-table.ts';
import { sessionPlace } from '../authorise.ts';

/** What a tool's call is about, for the same rule that guards the route beside it. */
export type ToolPlace =
  | { readonly kind: 'somewhere' }
  | { readonly kind: 'project'; readonly project: string }
  | { readonly kind: 'session'; readonly session: string };

/**
 * Lets a tool's call through if the route that does the same would let its caller through.
 * @param route as in `POST /v1/sessions`
 * @throws CodedError `forbidden`, `session_unknown`, `project_unknown`
 */
export async function requireToolAccess(
  database: Transaction,
  person: Person,
  route: string,
  place: ToolPlace,
): Promise<void> {
  const [method = '', path = ''] = route.split(' ');
  const row = rowOf(method, path);
  if (typeof row === 'string') throw new Error(`${route} has no rule that a tool could borrow`);
  const everywhere = hasRole(person, null, ...row.who);
  checkAccess(person, row, method, everywhere ? { kind: 'fleet' } : await accessPlace(database, place));
}

function accessPlace(database: Transaction, place: ToolPlace): Promise<AccessPlace> | AccessPlace {
  return place.kind === 'session' ? sessionPlace(database, place.session) : place;
}
