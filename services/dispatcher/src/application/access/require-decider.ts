import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { decisionFault } from '@lemniscate/shared/identity/who-decides.ts';
import type { SessionDecision } from '@lemniscate/shared/identity/who-decides.ts';
import { rolesIn } from '../identity.ts';
import type { Person } from '../identity.ts';

/** What each decision is called in an error. */
const names: Readonly<Record<SessionDecision, string>> = {
  approval: 'decide on an approval',
  extension: 'extend its budget',
  fresh_budget: 'start its counters anew',
  message: 'speak to it',
  pause: 'pause it or let it go on',
  diff: 'decide on a diff',
};

/**
 * Refuses whoever the table of decisions does not name for this session.
 * @throws CodedError `forbidden`
 */
export function requireDecider(
  person: Person,
  decision: SessionDecision,
  session: { readonly id: string; readonly project_id: string; readonly opened_by: string },
): void {
  const { subject, kind } = person;
  const fault = decisionFault(
    { subject, kind, roles: rolesIn(person, session.project_id) },
    decision,
    session.opened_by,
  );
  if (fault === 'not_in_person')
    throw new CodedError(
      'forbidden',
      `${person.name} is not a person's interactive login. Only a person can ${names[decision]}.`,
      { session: session.id },
    );
  if (fault === 'not_theirs')
    throw new CodedError(
      'forbidden',
      `Session ${session.id} was opened by ${session.opened_by}; only they or an approver can ${names[decision]}.`,
      { session: session.id },
    );
}
