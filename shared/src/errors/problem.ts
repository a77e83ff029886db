import { z } from 'zod';
import { errorCatalogue } from './catalogue.ts';
import type { ErrorCode } from './catalogue.ts';
import { CodedError, isCodedError } from './coded-error.ts';

/** RFC 9457 problem document with our stable `code` as extension member; media type `application/problem+json`. */
export const problemSchema = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string(),
    details: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: 'Problem' });
export type Problem = z.infer<typeof problemSchema>;

/**
 * Turns any thrown value into a problem document. Whatever is not a coded error becomes `internal` without its
 * message: a stack or a driver's sentence may hold content that the reader must not see.
 */
export function toProblem(error: unknown): Problem {
  const coded = isCodedError(error)
    ? error
    : new CodedError('internal', 'The request failed for a reason of ours; the service log has it.');
  const entry = errorCatalogue[coded.code];
  return {
    type: `urn:lemniscate:error:${coded.code}`,
    title: entry.title,
    status: entry.status,
    detail: coded.message,
    code: coded.code,
    ...(Object.keys(coded.details).length > 0 ? { details: { ...coded.details } } : {}),
  };
}

/** Reads a problem document back into a coded error; an unknown code becomes `internal` and keeps its sentence. */
export function fromProblem(body: unknown, status: number): CodedError {
  const parsed = problemSchema.safeParse(body);
  if (!parsed.success)
    return new CodedError('internal', `The answer was ${status} without a problem document.`);
  const code: ErrorCode = parsed.data.code in errorCatalogue ? (parsed.data.code as ErrorCode) : 'internal';
  return new CodedError(code, parsed.data.detail, (parsed.data.details ?? {}) as CodedError['details']);
}
