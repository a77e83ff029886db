import { z } from 'zod';

/** `POST /v1/audit/exporters/resends`: entries from one index to before another go to a receiver once more. */
export const resendRequestSchema = z.strictObject({
  /** As `GET /v1/audit/exporters` names it. */
  sink: z.string().min(1).max(1024),
  from: z.int().min(0),
  to: z.int().min(1),
});
export type ResendRequest = z.infer<typeof resendRequestSchema>;

/** `GET /v1/audit/exporters/resends`: the last hundred, the newest first. */
export const resendsSchema = z.object({
  resends: z.array(
    z.object({
      id: z.string(),
      sink: z.string(),
      from: z.int(),
      to: z.int(),
      /** First index that is not proved to have been sent again. */
      next: z.int(),
      requestedAt: z.string(),
      doneAt: z.string().nullable(),
      /** Why it was not done. */
      refused: z.string().nullable(),
    }),
  ),
});
export type Resends = z.infer<typeof resendsSchema>;
