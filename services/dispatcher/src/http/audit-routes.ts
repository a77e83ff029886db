import { z } from 'zod';
import {
  chainNameSchema,
  chainsPageSchema,
  entriesPageSchema,
} from '@lemniscate/shared/audit/stored-entry.ts';
import type { AuditReader } from '../application/ports/audit-reader.ts';
import type { App } from './app.ts';

export interface AuditRouteDeps {
  readonly auditReader: AuditReader;
}

const limit = z.coerce.number().int().min(1).max(1000).default(200);

/** The audit log as stored, so that a verifier in a process of its own can walk it. */
export function registerAuditRoutes(app: App, { auditReader }: AuditRouteDeps): void {
  app.get(
    '/v1/audit/chains',
    {
      schema: {
        querystring: z.object({ after: z.string().max(256).default(''), limit }),
        response: { 200: chainsPageSchema },
      },
    },
    (request) => auditReader.chains(request.query.after, request.query.limit),
  );

  app.get(
    '/v1/audit/chains/:chain/entries',
    {
      schema: {
        params: z.object({ chain: chainNameSchema }),
        querystring: z.object({
          after: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(0),
          limit,
        }),
        response: { 200: entriesPageSchema },
      },
    },
    (request) => auditReader.entries(request.params.chain, request.query.after, request.query.limit),
  );
}
