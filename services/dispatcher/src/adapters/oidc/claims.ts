import type { JWTPayload } from 'jose';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { DirectoryPerson } from '../../application/access/logins.ts';

const maxGroups = 1_000;
const printable = /^[^\u0000-\u001f\u007f]{1,256}$/;
/** Subjects of our own making; a directory that used them could pass for a token, a service, or somebody who was erased. */
const reserved = /^(token|local|spiffe|trigger|agent|person|github|gitlab|slack):/;

/**
 * Reads a person out of verified claims.
 * @param groupsClaim which claim holds the groups: a list of texts, or one text
 * @throws CodedError `login_failed` for a subject that cannot be one here
 */
export function personOfClaims(claims: JWTPayload, groupsClaim: string): DirectoryPerson {
  const { sub } = claims;
  if (sub === undefined || !printable.test(sub) || reserved.test(sub))
    throw new CodedError('login_failed', 'The issuer names a subject that cannot be used here.');
  const text = (name: string): string | null => {
    const value = claims[name];
    return typeof value === 'string' && printable.test(value) ? value : null;
  };
  const listed = claims[groupsClaim];
  const groups = (Array.isArray(listed) ? listed : [listed]).filter(
    (group): group is string => typeof group === 'string' && printable.test(group),
  );
  if (groups.length > maxGroups)
    throw new CodedError(
      'login_failed',
      `The issuer names ${groups.length} groups; at most ${maxGroups} are taken. Let it send only those that are bound here.`,
    );
  return {
    subject: sub,
    name: text('name') ?? text('preferred_username') ?? text('email') ?? sub,
    // An address that nobody has proved would let a person be taken for another.
    email: claims['email_verified'] === false ? null : text('email'),
    groups: [...new Set(groups)],
  };
}
