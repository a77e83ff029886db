import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { JsonObject } from '@lemniscate/shared/json.ts';

/** sha256 of the canonical JSON (RFC 8785) of a tool call's arguments, in hex: what a permit and an approval are for. */
export function digestArguments(input: JsonObject): string {
  return createHash('sha256')
    .update(canonicalize(input) ?? '')
    .digest('hex');
}
