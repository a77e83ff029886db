import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { toProblem } from '@lemniscate/shared/errors/problem.ts';
import type { App } from './app.ts';

/** Media type of RFC 9457. */
export const problemMediaType = 'application/problem+json';

/** Answers every fault with a problem document. What is ours goes into the log with its place, not to the caller. */
export function setProblemHandlers(app: App): void {
  app.setErrorHandler((error: unknown, request, reply) => {
    const coded = toCoded(error);
    if (coded === null) request.log.error({ err: error, request: request.id }, 'unexpected fault');
    else if (coded.status >= 500) request.log.warn({ err: coded, request: request.id }, 'request failed');
    return sendProblem(reply, coded ?? error);
  });
  app.setNotFoundHandler((request: FastifyRequest, reply) =>
    sendProblem(
      reply,
      new CodedError(
        'not_found',
        `There is no ${request.method} ${request.url.split('?')[0]}. GET /openapi.json lists what there is.`,
      ),
    ),
  );
}

/** What is away for a moment is asked again after so long, where nobody knows better. */
const usualRetryAfterSeconds = 2;

/** Sends the problem document of a thrown value. */
export function sendProblem(reply: FastifyReply, error: unknown): FastifyReply {
  const problem = toProblem(error);
  if (problem.status === 401) void reply.header('www-authenticate', 'Bearer');
  const retryAfter =
    problem.details?.['retryAfterSeconds'] ?? (problem.status === 503 ? usualRetryAfterSeconds : undefined);
  if (typeof retryAfter === 'number') void reply.header('retry-after', String(retryAfter));
  // A string goes past the serializer: the route's schema describes its answers, not its problems.
  return reply
    .code(problem.status)
    .header('content-type', problemMediaType)
    .serializer((payload: unknown) => JSON.stringify(payload))
    .send(problem);
}

/** The coded error of what Fastify or a handler threw; null for a fault of ours. */
export function toCoded(error: unknown): CodedError | null {
  if (isCodedError(error)) return error;
  if (!(error instanceof Error)) return null;
  if (hasZodFastifySchemaValidationErrors(error)) {
    const faults = error.validation.map(
      (issue) =>
        `${issue.instancePath === '' ? (error.validationContext ?? 'body') : issue.instancePath}: ${issue.message ?? 'is not valid'}`,
    );
    return new CodedError('request_invalid', `The request cannot be read. ${faults.join('; ')}.`, { faults });
  }
  return fromFastify(error as FastifyError);
}

const byFastifyCode: Readonly<Record<string, (error: FastifyError) => CodedError>> = {
  FST_ERR_MAX_PARAM_LENGTH: () =>
    new CodedError('request_invalid', 'A part of the path is longer than any id here.'),
  FST_ERR_CTP_INVALID_JSON_BODY: () =>
    new CodedError('request_invalid', 'The body is not JSON. Send one JSON document as application/json.'),
  FST_ERR_CTP_EMPTY_JSON_BODY: () =>
    new CodedError('request_invalid', 'The body is empty although the content type is application/json.'),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () =>
    new CodedError('request_invalid', 'The content type is not taken here. Send application/json.'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    new CodedError('request_invalid', 'The body is not as long as its Content-Length says.'),
  FST_ERR_CTP_BODY_TOO_LARGE: () =>
    new CodedError('payload_too_large', 'The body is larger than this address takes.'),
};

function fromFastify(error: FastifyError): CodedError | null {
  const known = byFastifyCode[error.code];
  if (known !== undefined) return known(error);
  // Malformed percent-encoding, prototype poisoning and the like: the caller's fault, with Fastify's own sentence.
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500)
    return new CodedError('request_invalid', error.message);
  return null;
}
