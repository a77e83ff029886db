import { z } from 'zod';
import { surfaces } from '../protocol/session-order.ts';
import { endReasons, pauseReasons } from '../session/end.ts';
import { sessionStates } from '../session/state.ts';

/** Longest part of an instruction that a list shows. */
export const shownInstruction = 240;

/** One session in a list: what a person tells sessions apart by, and nothing that a list of thousands has no room for. */
export const sessionRowSchema = z
  .object({
    id: z.string(),
    project: z.string(),
    state: z.enum(sessionStates),
    phase: z.string(),
    reason: z.enum([...endReasons, ...pauseReasons]).nullable(),
    /** Its beginning. */
    instruction: z.string(),
    model: z.string(),
    surface: z.enum(surfaces),
    openedBy: z.string(),
    server: z.string().nullable(),
    attempt: z.int(),
    createdAt: z.string(),
    runningAt: z.string().nullable(),
    endedAt: z.string().nullable(),
    totalCostUsd: z.string(),
    priced: z.boolean(),
    /** Approvals that wait for a person. */
    waiting: z.int(),
    diff: z
      .object({
        state: z.enum(['offered', 'accepted', 'rejected', 'discarded']),
        files: z.int(),
        insertions: z.int(),
        deletions: z.int(),
      })
      .nullable(),
  })
  .meta({ id: 'SessionRow' });
export type SessionRow = z.infer<typeof sessionRowSchema>;

/** Answer of `GET /v1/session-rows`. */
export const sessionRowsSchema = z.object({
  rows: z.array(sessionRowSchema),
  nextCursor: z.string().nullable(),
});
export type SessionRows = z.infer<typeof sessionRowsSchema>;

/** Answer of `GET /v1/session-facets`: how many sessions there are of each kind. */
export const sessionFacetsSchema = z.object({
  states: z.record(z.string(), z.int()),
  projects: z.record(z.string(), z.int()),
  people: z.record(z.string(), z.int()),
});
export type SessionFacets = z.infer<typeof sessionFacetsSchema>;
