import { z } from 'zod';
import { toolCallViewSchema } from '@lemniscate/shared/api/session.ts';
import { listToolCalls } from '../application/permits/list-tool-calls.ts';
import type { Transaction } from '../application/ports/transaction.ts';
import type { App } from './app.ts';
import { sessionParams } from './session-routes.ts';

/** Public listener: what an agent asked for and what became of it. */
export function registerToolCallRoutes(app: App, deps: { readonly database: Transaction }): void {
  app.get(
    '/v1/sessions/:id/tool-calls',
    {
      schema: {
        params: sessionParams,
        response: { 200: z.object({ toolCalls: z.array(toolCallViewSchema) }) },
      },
    },
    async (request) => ({ toolCalls: await listToolCalls(deps.database, request.params.id) }),
  );
}
