import { resendRequestSchema, resendsSchema } from '@lemniscate/shared/audit/resend-api.ts';
import { z } from 'zod';
import { listResends, requestResend } from '../application/audit/resends.ts';
import type { ResendDeps } from '../application/audit/resends.ts';
import type { App } from './app.ts';
import { personOf } from './identity.ts';

/** Public listener: ranges of the log that a receiver gets again. */
export function registerResendRoutes(app: App, deps: ResendDeps): void {
  app.post(
    '/v1/audit/exporters/resends',
    { schema: { body: resendRequestSchema, response: { 202: z.object({ id: z.string() }) } } },
    async (request, reply) => {
      const id = await requestResend(deps, personOf(request), request.body);
      return reply.code(202).send({ id });
    },
  );

  app.get('/v1/audit/exporters/resends', { schema: { response: { 200: resendsSchema } } }, () =>
    listResends(deps.database),
  );
}
