import { permitAnswerSchema } from '@lemniscate/shared/protocol/permit.ts';
import { permitBodyLimit } from '../application/permits/read-proposal.ts';
import { requestPermit } from '../application/permits/request-permit.ts';
import type { PermitDeps } from '../application/permits/request-permit.ts';
import type { App } from './app.ts';
import { attemptParams, claimOf, hangUpOf } from './attempt-params.ts';

/** Internal listener: may this tool call run? The proposal is read by the application, which believes nothing. */
export function registerPermitRoutes(app: App, deps: PermitDeps): void {
  app.post(
    '/internal/sessions/:id/attempts/:attempt/permits',
    {
      bodyLimit: permitBodyLimit,
      schema: { params: attemptParams, response: { 200: permitAnswerSchema } },
    },
    (request, reply) => requestPermit(deps, claimOf(request, request.params), request.body, hangUpOf(reply)),
  );
}
