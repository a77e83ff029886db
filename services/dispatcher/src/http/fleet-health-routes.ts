import { z } from 'zod';
import { queueReportSchema, startReportSchema } from '@lemniscate/shared/api/fleet-health.ts';
import { reportQueue } from '../application/fleet-health/queue-report.ts';
import { reportStarts } from '../application/fleet-health/start-report.ts';
import { projectsWith } from '../application/identity.ts';
import type { Person } from '../application/identity.ts';
import type { Transaction } from '../application/ports/transaction.ts';
import type { App } from './app.ts';
import { personOf } from './identity.ts';

/** Projects that the person may know such numbers of: an operator those of all. */
const seenBy = (person: Person): readonly string[] | null =>
  projectsWith(person, 'member', 'approver', 'project_admin', 'administrator', 'auditor', 'operator');

/** Public listener: whether sessions get servers, how fast, and why they fail. */
export function registerFleetHealthRoutes(app: App, deps: { readonly database: Transaction }): void {
  app.get('/v1/fleet/queue', { schema: { response: { 200: queueReportSchema } } }, (request) =>
    reportQueue(deps.database, seenBy(personOf(request))),
  );

  app.get(
    '/v1/fleet/starts',
    {
      schema: {
        querystring: z.object({ hours: z.coerce.number().int().min(1).max(744).default(24) }),
        response: { 200: startReportSchema },
      },
    },
    (request) => reportStarts(deps.database, request.query.hours, seenBy(personOf(request))),
  );
}
