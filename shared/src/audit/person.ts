import type { JsonValue } from '../json.ts';
import type { AuditDraft } from './entry.ts';

/**
 * How a person appears in the chain: `person:` and 96 random bits. Who it is stands in a map outside the chain, whose
 * row can be erased without breaking a proof. A digest of the identity would not do: whoever has a list of people can
 * try them.
 */
export const personPattern = /^person:[0-9a-f]{24}$/;
const anywhere = /person:[0-9a-f]{24}/g;

/** Somebody's account of another system, as the map has it: its name is a person's like the directory's. */
export const accountIdentity = (source: string, account: string): string => `${source}:${account}`;

/** Services act under their own name; everybody else is a person. */
export const isService = (subject: string): boolean => subject.startsWith('spiffe://lemniscate/');

/** Members of a body that name a person; `account` is one of another system, as `accountIdentity` writes it. */
const personMembers = ['user', 'owner', 'actor', 'account', 'acceptedBy'] as const;

/** The members of this body that name people; `principal` is one where `principalKind` says so, else it is a group. */
function namingPeople({ body }: AuditDraft): readonly string[] {
  return body['principalKind'] === 'person' ? [...personMembers, 'principal'] : personMembers;
}

/** Identities in a draft, as the directory has them. */
export function identitiesIn(draft: AuditDraft): string[] {
  const { subject, body } = draft;
  const named = namingPeople(draft).flatMap((member) => {
    const value = Object.hasOwn(body, member) ? body[member] : undefined;
    return (Array.isArray(value) ? value : [value]).filter((each) => typeof each === 'string');
  });
  return [subject, ...named].filter((identity) => !isService(identity) && identity !== '');
}

/** The draft with pseudonyms in the place of identities. */
export function withPseudonyms(draft: AuditDraft, pseudonyms: ReadonlyMap<string, string>): AuditDraft {
  const renamed = (value: JsonValue): JsonValue =>
    Array.isArray(value)
      ? value.map(renamed)
      : typeof value === 'string'
        ? (pseudonyms.get(value) ?? value)
        : value;
  const naming = namingPeople(draft);
  const body = Object.fromEntries(
    Object.entries(draft.body).map(([member, value]) => [
      member,
      naming.includes(member) ? renamed(value) : value,
    ]),
  );
  return { ...draft, subject: pseudonyms.get(draft.subject) ?? draft.subject, body };
}

/** Pseudonyms that the bytes of entries speak of, each once. */
export function peopleIn(bodies: readonly Uint8Array[]): string[] {
  const found = new Set<string>();
  for (const body of bodies) {
    const buffer = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    // most entries are those of services
    if (!buffer.includes('person:')) continue;
    for (const [pseudonym] of buffer.toString('utf8').matchAll(anywhere)) found.add(pseudonym);
  }
  return [...found];
}
