import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';

/**
 * sha256 of the canonical JSON (RFC 8785) of a tool call's arguments: what an approval is for. Server and dispatcher
 * both compute it, so that neither has to believe the other.
 */
export function argumentsDigest(args: Readonly<Record<string, unknown>>): string {
  return createHash('sha256')
    .update(canonicalize(args) ?? '', 'utf8')
    .digest('hex');
}
