import { z } from 'zod';
import { sha256Schema } from '@lemniscate/shared/protocol/identity.ts';
import { uploadAnswerSchema, uploadRequestSchema } from '@lemniscate/shared/protocol/session-result.ts';
import { readLiveAttempt } from '../application/events/live-attempt.ts';
import { announceUpload } from '../application/uploads/announce-upload.ts';
import type { UploadDeps } from '../application/uploads/announce-upload.ts';
import { completeUpload } from '../application/uploads/complete-upload.ts';
import { attemptOwner, personOwner } from '../application/uploads/upload-row.ts';
import type { App } from './app.ts';
import { attemptParams, claimOf } from './attempt-params.ts';
import { personOf } from './identity.ts';

const uploadParams = z.object({ uploadId: z.string().regex(/^[\w-]{1,64}$/, 'must be an upload id') });
const completedSchema = z.object({ sha256: sha256Schema });

/** Public listener: a person stores something, such as a repository's bundle. */
export function registerUploadRoutes(app: App, deps: UploadDeps): void {
  app.post(
    '/v1/uploads',
    {
      schema: {
        querystring: z.object({ project: z.string().min(1).max(128).default('local') }),
        body: uploadRequestSchema,
        response: { 200: uploadAnswerSchema },
      },
    },
    (request) => announceUpload(deps, request.query.project, personOwner(personOf(request)), request.body),
  );

  app.post(
    '/v1/uploads/:uploadId/complete',
    { schema: { params: uploadParams, response: { 200: completedSchema } } },
    (request) => completeUpload(deps, request.params.uploadId, personOwner(personOf(request))),
  );
}

/** Internal listener: a server stores what its live attempt has made, and nothing else. */
export function registerAttemptUploadRoutes(app: App, deps: UploadDeps): void {
  app.post(
    '/internal/sessions/:id/attempts/:attempt/uploads',
    {
      schema: { params: attemptParams, body: uploadRequestSchema, response: { 200: uploadAnswerSchema } },
    },
    async (request) => {
      const claim = claimOf(request, request.params);
      const { project_id: project } = await readLiveAttempt(deps.database, claim);
      return announceUpload(deps, project, attemptOwner(claim), request.body);
    },
  );

  app.post(
    '/internal/sessions/:id/attempts/:attempt/uploads/:uploadId/complete',
    {
      schema: { params: attemptParams.extend(uploadParams.shape), response: { 200: completedSchema } },
    },
    async (request) => {
      const claim = claimOf(request, request.params);
      await readLiveAttempt(deps.database, claim);
      return completeUpload(deps, request.params.uploadId, attemptOwner(claim));
    },
  );
}
