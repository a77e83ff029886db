import { z } from 'zod';
import { auditSearchSchema, exportersSchema } from '@lemniscate/shared/audit/search-api.ts';
import type { Clock } from '@lemniscate/shared/clock.ts';
import type { AuditSearcher } from '../application/ports/audit-search.ts';
import type { App } from './app.ts';

export interface AuditSearchDeps {
  readonly auditSearch: AuditSearcher;
  readonly clock: Clock;
}

const weekMs = 7 * 86_400_000;
const moment = z.iso.datetime({ offset: true });

/** Public listener: the audit log as a security officer asks it, and how far its receivers are. */
export function registerAuditSearchRoutes(app: App, { auditSearch, clock }: AuditSearchDeps): void {
  app.get(
    '/v1/audit/search',
    {
      schema: {
        querystring: z.object({
          /** First moment; without it a week ago. */
          from: moment.optional(),
          to: moment.optional(),
          /** Types, separated by commas. */
          types: z.string().max(2000).default(''),
          chain: z.string().max(256).optional(),
          text: z.string().max(200).optional(),
          before: z.string().max(1024).optional(),
          limit: z.coerce.number().int().min(1).max(500).default(100),
        }),
        response: { 200: auditSearchSchema },
      },
    },
    ({ query }) => {
      const now = clock.now().getTime();
      return auditSearch.search(
        {
          from: query.from ?? new Date(now - weekMs).toISOString(),
          to: query.to ?? new Date(now + 60_000).toISOString(),
          types: query.types.split(',').filter((type) => type !== ''),
          chain: query.chain ?? null,
          text: query.text ?? null,
        },
        query.before ?? null,
        query.limit,
      );
    },
  );

  app.get('/v1/audit/exporters', { schema: { response: { 200: exportersSchema } } }, () =>
    auditSearch.exporters(),
  );
}
