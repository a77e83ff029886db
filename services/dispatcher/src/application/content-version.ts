import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';

/** Names settings by what they say, where they are kept without versions: the same words have the same name. */
export function contentVersion(settings: object): string {
  return createHash('sha256')
    .update(canonicalize(settings) ?? '')
    .digest('hex')
    .slice(0, 32);
}

/**
 * Holds what is there against what the caller saw.
 * @param what the thing's name for the sentence
 * @throws CodedError `version_conflict`
 */
export function requireSeen(now: object, seen: string, what: string): void {
  if (seen === contentVersion(now)) return;
  throw new CodedError(
    'version_conflict',
    `The ${what} say something else by now than what you saw. Read them again and change that.`,
  );
}
