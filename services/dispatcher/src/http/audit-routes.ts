import { z } from 'zod';
import {
  chainNameSchema,
  chainsPageSchema,
  entriesPageSchema,
} from '@lemniscate/shared/audit/stored-entry.ts';
import {
  checkpointsPageSchema,
  consistencyProofSchema,
  inclusionProofSchema,
} from '@lemniscate/shared/audit/proof-api.ts';
import type { AuditProofs } from '../application/ports/audit-proofs.ts';
import type { AuditReader } from '../application/ports/audit-reader.ts';
import type { App } from './app.ts';

export interface AuditRouteDeps {
  readonly auditReader: AuditReader;
  readonly auditProofs: AuditProofs;
}

const limit = z.coerce.number().int().min(1).max(1000).default(200);

const place = z.coerce.number().int().max(Number.MAX_SAFE_INTEGER);

/** The audit log as stored, so that a verifier in a process of its own can walk it. */
export function registerAuditRoutes(app: App, { auditReader, auditProofs }: AuditRouteDeps): void {
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

  app.get(
    '/v1/audit/checkpoints',
    {
      schema: {
        querystring: z.object({ after: place.min(-1).default(-1), limit }),
        response: { 200: checkpointsPageSchema },
      },
    },
    (request) => auditProofs.checkpoints(request.query.after, request.query.limit),
  );

  app.get(
    '/v1/audit/proofs/inclusion',
    {
      schema: {
        querystring: z.object({ chain: chainNameSchema, seq: place.min(1), size: place.min(1) }),
        response: { 200: inclusionProofSchema },
      },
    },
    ({ query }) => auditProofs.inclusion(query.chain, query.seq, query.size),
  );

  app.get(
    '/v1/audit/proofs/consistency',
    {
      schema: {
        querystring: z.object({ from: place.min(0), to: place.min(0) }),
        response: { 200: consistencyProofSchema },
      },
    },
    ({ query }) => auditProofs.consistency(query.from, query.to),
  );
}
