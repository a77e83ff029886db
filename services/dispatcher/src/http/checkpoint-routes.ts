import {
  giveBackSchema,
  takeCheckpointAnswerSchema,
  takeCheckpointSchema,
} from '@lemniscate/shared/protocol/checkpoint.ts';
import { z } from 'zod';
import { giveBackAttempt } from '../application/checkpoints/give-back-attempt.ts';
import { takeCheckpoint } from '../application/checkpoints/take-checkpoint.ts';
import type { TakeCheckpointDeps } from '../application/checkpoints/take-checkpoint.ts';
import { resultBodyLimit } from '../application/results/accept-result.ts';
import type { LoseAttemptDeps } from '../application/recovery/lose-attempt.ts';
import type { App } from './app.ts';
import { attemptParams, claimOf } from './attempt-params.ts';

export type CheckpointRouteDeps = TakeCheckpointDeps & LoseAttemptDeps;

/** Internal listener: a live attempt is stored, or could not go on from what was stored. */
export function registerCheckpointRoutes(app: App, deps: CheckpointRouteDeps): void {
  app.post(
    '/internal/sessions/:id/attempts/:attempt/checkpoints',
    {
      // A list of changed files and a small patch, as in a result.
      bodyLimit: resultBodyLimit,
      schema: {
        params: attemptParams,
        body: takeCheckpointSchema,
        response: { 200: takeCheckpointAnswerSchema },
      },
    },
    (request) => takeCheckpoint(deps, claimOf(request, request.params), request.body),
  );

  app.post(
    '/internal/sessions/:id/attempts/:attempt/give-back',
    {
      schema: {
        params: attemptParams,
        body: giveBackSchema,
        response: { 200: z.object({ taken: z.literal(true) }) },
      },
    },
    async (request) => {
      await giveBackAttempt(deps, claimOf(request, request.params), request.body);
      return { taken: true } as const;
    },
  );
}
