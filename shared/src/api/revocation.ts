import { z } from 'zod';

/** Body of a revocation: what the person whose session ends is told. */
export const revocationNoteSchema = z.strictObject({ note: z.string().min(1).max(1000).optional() });

/** Answer of `GET /v1/revocations`. */
export const revokedUsersSchema = z.object({
  users: z.array(
    z.object({
      subject: z.string(),
      revokedBy: z.string(),
      note: z.string().nullable(),
      revokedAt: z.string(),
      /** What `DELETE /v1/revocations/:subject` sends as If-Match. */
      version: z.int(),
    }),
  ),
});
