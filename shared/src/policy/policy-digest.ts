import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Policy } from './policy.ts';

/**
 * SHA-256 of the policy's canonical JSON (RFC 8785), lower-case hexadecimal. Every default is filled in before, so
 * that a change of a default changes the digest and approvals under the old one do not carry over.
 */
export function policyDigest(policy: Policy): string {
  const text = canonicalize(policy);
  if (text === undefined) throw new TypeError('a policy is always representable as JSON');
  return createHash('sha256').update(text, 'utf8').digest('hex');
}
