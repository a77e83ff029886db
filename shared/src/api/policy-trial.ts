import { z } from 'zod';

/** Body of `POST /v1/projects/:id/policy/try`: commands that are judged and never run. */
export const policyTrialSchema = z.strictObject({
  commands: z.array(z.string().min(1).max(100_000)).min(1).max(50),
  /** A policy's text that is not in force; absent: the project's own. */
  policy: z.string().max(262_144).optional(),
});

/** What the policy says of each command, in their order. */
export const policyVerdictsSchema = z.object({
  verdicts: z.array(
    z.object({
      verdict: z.enum(['disabled', 'allowedWithPermission', 'allowedWithoutPermission']),
      reasons: z.array(z.string()),
    }),
  ),
});
