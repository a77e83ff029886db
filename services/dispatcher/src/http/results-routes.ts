import { z } from 'zod';
import { acceptResult, resultBodyLimit } from '../application/results/accept-result.ts';
import type { ResultDeps } from '../application/results/accept-result.ts';
import type { App } from './app.ts';
import { attemptParams, claimOf } from './attempt-params.ts';

/** Internal listener: an attempt's last word. */
export function registerResultRoutes(app: App, deps: ResultDeps): void {
  app.post(
    '/internal/sessions/:id/attempts/:attempt/result',
    {
      bodyLimit: resultBodyLimit,
      schema: { params: attemptParams, response: { 200: z.object({ accepted: z.literal(true) }) } },
    },
    (request) => acceptResult(deps, claimOf(request, request.params), request.body),
  );
}
