import type { FastifyError, FastifyInstance } from 'fastify';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import { CodedError, isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { toProblem } from '@lemniscate/shared/errors/problem.ts';

/** Every error leaves as a problem document; faults of ours go to the log with their place. */
export function sendProblems(app: FastifyInstance): void {
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const coded = asCoded(error);
    const problem = toProblem(coded);
    if (problem.status >= 500) request.log.error({ err: error }, 'a request failed');
    return reply.code(problem.status).type('application/problem+json').send(problem);
  });
  app.setNotFoundHandler((request, reply) => {
    const problem = toProblem(
      new CodedError('not_found', `There is no ${request.method} ${request.url.split('?')[0]}.`),
    );
    return reply.code(problem.status).type('application/problem+json').send(problem);
  });
}

function asCoded(error: FastifyError): unknown {
  if (isCodedError(error)) return error;
  if (hasZodFastifySchemaValidationErrors(error)) {
    const faults = error.validation.map(
      (fault) => `${fault.instancePath || '/'}: ${fault.message ?? 'not valid'}`,
    );
    return new CodedError('request_invalid', `The request does not fit: ${faults.join('; ')}.`, { faults });
  }
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new CodedError('payload_too_large', error.message);
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500) {
    return new CodedError('request_invalid', error.message);
  }
  return error;
}
