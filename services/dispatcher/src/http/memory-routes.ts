import { Readable } from 'node:stream';
import { z } from 'zod';
import {
  decidedProposalSchema,
  decideProposalSchema,
  memoryProposalsSchema,
  memoryVersionsSchema,
  memoryViewSchema,
  restoreMemorySchema,
  sessionFilesSchema,
} from '@lemniscate/shared/api/memory.ts';
import { agentIdSchema } from '@lemniscate/shared/api/agent.ts';
import { folderPathSchema } from '@lemniscate/shared/agents/folder.ts';
import type { Clock } from '@lemniscate/shared/clock.ts';
import {
  objectAddressesRequestSchema,
  objectAddressesSchema,
} from '@lemniscate/shared/protocol/session-result.ts';
import { attachmentAddresses } from '../application/agents/attachment-addresses.ts';
import {
  listMemoryVersions,
  memoryFileAddress,
  readMemory,
  restoreMemory,
} from '../application/agents/memory.ts';
import { decideProposal, listProposals } from '../application/agents/memory-proposals.ts';
import type { MemoryDeps } from '../application/agents/memory.ts';
import { listFiles, openFile } from '../application/agents/session-files.ts';
import type { App } from './app.ts';
import { attemptParams, claimOf } from './attempt-params.ts';
import { personOf } from './identity.ts';
import { sessionParams } from './session-routes.ts';
import { etagOf, readIfMatch } from './versions.ts';

export interface MemoryRouteDeps extends MemoryDeps {
  readonly clock: Clock;
}

const memoryParams = z.object({ id: z.string().min(1).max(128), agent: agentIdSchema });
const versionQuery = z.object({ version: z.coerce.number().int().min(0).max(1_000_000_000).optional() });
const ownerOf = ({ id, agent }: z.infer<typeof memoryParams>) => ({ project: id, agent });

/** Public listener: what agents remember, and the files that they wrote. */
export function registerMemoryRoutes(app: App, deps: MemoryRouteDeps): void {
  const base = '/v1/projects/:id/agents/:agent/memory';

  app.get(
    base,
    { schema: { params: memoryParams, querystring: versionQuery, response: { 200: memoryViewSchema } } },
    async (request, reply) => {
      const found = await readMemory(deps.database, ownerOf(request.params), request.query.version ?? null);
      void reply.header('etag', etagOf(found.version));
      return found;
    },
  );

  app.get(
    `${base}/versions`,
    { schema: { params: memoryParams, response: { 200: memoryVersionsSchema } } },
    async (request) => ({ versions: await listMemoryVersions(deps.database, ownerOf(request.params)) }),
  );

  app.get(
    `${base}/content`,
    {
      schema: {
        params: memoryParams,
        querystring: versionQuery.extend({ path: folderPathSchema }),
        response: { 200: z.object({ address: z.string() }) },
      },
    },
    async (request) => {
      const { path, version } = request.query;
      return { address: await memoryFileAddress(deps, ownerOf(request.params), path, version ?? null) };
    },
  );

  app.post(
    `${base}/restore`,
    { schema: { params: memoryParams, body: restoreMemorySchema, response: { 200: memoryViewSchema } } },
    async (request, reply) => {
      const owner = ownerOf(request.params);
      const seen = readIfMatch(request, 'memory');
      const version = await restoreMemory(deps, personOf(request), owner, { ...request.body, seen });
      void reply.header('etag', etagOf(version));
      return readMemory(deps.database, owner, version);
    },
  );

  app.get(
    `${base}/proposals`,
    { schema: { params: memoryParams, response: { 200: memoryProposalsSchema } } },
    async (request) => ({ proposals: await listProposals(deps.database, ownerOf(request.params)) }),
  );

  app.post(
    `${base}/proposals/:session`,
    {
      schema: {
        params: memoryParams.extend({ session: z.string().regex(/^[\w-]{1,64}$/, 'must be a session id') }),
        body: decideProposalSchema,
        response: { 200: decidedProposalSchema },
      },
    },
    async (request) => {
      const owner = ownerOf(request.params);
      const notices = await decideProposal(deps, personOf(request), owner, {
        session: request.params.session,
        accept: request.body.decision === 'accept',
        at: deps.clock.now().toISOString(),
      });
      return { version: (await readMemory(deps.database, owner, null)).version, notices: [...notices] };
    },
  );
  registerFileRoutes(app, deps);
}

function registerFileRoutes(app: App, deps: MemoryRouteDeps): void {
  app.get(
    '/v1/sessions/:id/files',
    { schema: { params: sessionParams, response: { 200: sessionFilesSchema } } },
    async (request) => ({ files: await listFiles(deps.database, request.params.id) }),
  );

  app.get(
    '/v1/sessions/:id/files/content',
    { schema: { params: sessionParams, querystring: z.object({ path: folderPathSchema }) } },
    async (request, reply) => {
      const { path } = request.query;
      const file = await openFile(deps, request.params.id, path);
      const name = encodeURIComponent(path.split('/').at(-1) ?? 'file');
      void reply
        .header('content-type', file.type)
        .header('content-length', file.bytes)
        // An agent wrote it: it is kept from running in the reader's name.
        .header('x-content-type-options', 'nosniff')
        .header('content-security-policy', "sandbox; default-src 'none'")
        .header('content-disposition', `attachment; filename*=UTF-8''${name}`);
      return reply.send(Readable.from(file.body));
    },
  );
}

/** Internal listener: an agent server reads what its session brings along. */
export function registerAttachmentRoutes(app: App, deps: Pick<MemoryDeps, 'database' | 'objects'>): void {
  app.post(
    '/internal/sessions/:id/attempts/:attempt/objects',
    {
      schema: {
        params: attemptParams,
        body: objectAddressesRequestSchema,
        response: { 200: objectAddressesSchema },
      },
    },
    async (request) => ({
      addresses: await attachmentAddresses(deps, claimOf(request, request.params), request.body.digests),
    }),
  );
}
