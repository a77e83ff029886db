import {
  clientRunAnswerSchema,
  clientRunSchema,
  decideExtensionSchema,
  extensionListSchema,
  extensionViewSchema,
} from '@lemniscate/shared/api/extension.ts';
import { decideExtension } from '../application/budgets/decide-extension.ts';
import type { ExtensionDeps } from '../application/budgets/decide-extension.ts';
import { listExtensions, toExtensionView } from '../application/budgets/extension-row.ts';
import { attachClientRun } from '../application/budgets/restart-budget.ts';
import type { App } from './app.ts';
import { personOf } from './identity.ts';
import { sessionParams } from './session-routes.ts';

/** Public listener: sessions that have used up their budget, and their person's answer. */
export function registerExtensionRoutes(app: App, deps: ExtensionDeps): void {
  app.get(
    '/v1/sessions/:id/extensions',
    { schema: { params: sessionParams, response: { 200: extensionListSchema } } },
    async (request) => ({ extensions: await listExtensions(deps.database, request.params.id) }),
  );

  app.post(
    '/v1/sessions/:id/extension',
    {
      schema: { params: sessionParams, body: decideExtensionSchema, response: { 200: extensionViewSchema } },
    },
    async (request) => {
      const { id } = request.params;
      return toExtensionView(await decideExtension(deps, personOf(request), id, request.body));
    },
  );

  app.put(
    '/v1/sessions/:id/client-run',
    {
      schema: { params: sessionParams, body: clientRunSchema, response: { 200: clientRunAnswerSchema } },
    },
    async (request) => ({
      restarted: await attachClientRun(deps, personOf(request), request.params.id, request.body.run),
    }),
  );
}
