import type { FastifyRequest } from 'fastify';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';

/** The ETag of a version. */
export function etagOf(version: number): string {
  return `"${version}"`;
}

/**
 * The version that the caller saw, from If-Match.
 * @param what the thing's name for the sentence
 * @throws CodedError `version_required`
 */
export function readIfMatch(request: FastifyRequest, what: string): number {
  const version = /^"(\d{1,9})"$/.exec(request.headers['if-match'] ?? '')?.[1];
  if (version !== undefined) return Number(version);
  throw new CodedError(
    'version_required',
    `Send If-Match with the ETag of the ${what} that you changed, as in If-Match: "3". GET the ${what} to see it.`,
  );
}
