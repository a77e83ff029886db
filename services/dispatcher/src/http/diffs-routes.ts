import { Readable } from 'node:stream';
import { z } from 'zod';
import { acceptDiffSchema, decidedDiffSchema } from '@lemniscate/shared/api/session.ts';
import { diffSummarySchema } from '@lemniscate/shared/repository/diff.ts';
import { decideDiff } from '../application/review/decide-diff.ts';
import type { ReviewDeps } from '../application/review/decide-diff.ts';
import { openDiff, readWhole } from '../application/review/read-patch.ts';
import type { PatchDeps } from '../application/review/read-patch.ts';
import type { App } from './app.ts';
import { personOf } from './identity.ts';
import { sessionParams } from './session-routes.ts';

/** A patch larger than this is not put into JSON: `Accept: text/x-diff` streams it. Bytes. */
const jsonPatchBytes = 16 * 1024 * 1024;

const diffSchema = diffSummarySchema.extend({
  state: z.enum(['offered', 'accepted', 'rejected', 'discarded']),
  acceptedFiles: z.array(z.string()).nullable(),
  /** Null when the patch is too large for JSON. */
  patchBase64: z.string().nullable(),
});

/** Public listener: the one way out of a session. */
export function registerDiffRoutes(app: App, deps: PatchDeps & ReviewDeps): void {
  app.get(
    '/v1/sessions/:id/diff',
    { schema: { params: sessionParams, response: { 200: z.union([diffSchema, z.instanceof(Readable)]) } } },
    async (request, reply) => {
      const opened = await openDiff(deps, request.params.id);
      if (request.headers.accept?.includes('text/x-diff') === true) {
        void reply
          .header('content-type', 'text/x-diff')
          .header('content-length', opened.diff.summary.bytes)
          .header('etag', `"${opened.diff.summary.sha256}"`);
        return reply.send(Readable.from(opened.patch));
      }
      const patch = await readWhole(opened, jsonPatchBytes);
      const { summary, state, accepted_files: acceptedFiles } = opened.diff;
      return {
        ...summary,
        state,
        acceptedFiles: acceptedFiles === null ? null : [...acceptedFiles],
        patchBase64: patch?.toString('base64') ?? null,
      };
    },
  );

  app.post(
    '/v1/sessions/:id/diff/accept',
    { schema: { params: sessionParams, body: acceptDiffSchema, response: { 200: decidedDiffSchema } } },
    (request) => decideDiff(deps, personOf(request), request.params.id, { kind: 'accept', ...request.body }),
  );

  app.post(
    '/v1/sessions/:id/diff/reject',
    { schema: { params: sessionParams, response: { 200: decidedDiffSchema } } },
    (request) => decideDiff(deps, personOf(request), request.params.id, { kind: 'reject' }),
  );
}
