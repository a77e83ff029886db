import type { FastifyRequest } from 'fastify';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { contentVersion } from '../application/content-version.ts';

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

/** The ETag of settings that are kept without versions. */
export function contentEtagOf(settings: object): string {
  return `"${contentVersion(settings)}"`;
}

/**
 * What the caller saw of such settings, from If-Match.
 * @param what the settings' name for the sentence
 * @throws CodedError `version_required`
 */
export function readSeenContent(request: FastifyRequest, what: string): string {
  const version = /^"([0-9a-f]{32})"$/.exec(request.headers['if-match'] ?? '')?.[1];
  if (version !== undefined) return version;
  throw new CodedError(
    'version_required',
    `Send If-Match with the ETag of the ${what} that you changed, as GET has told it.`,
  );
}
