import { z } from 'zod';
import { credentialNameSchema } from '../protocol/credential.ts';

/** Body of `PUT /v1/agents/:agent/credentials/:name`. Shorter values could not be told from words in an output. */
export const setCredentialSchema = z.strictObject({
  value: z
    .string()
    .min(8, 'must have at least 8 characters: shorter ones cannot be hidden in what is shown')
    .max(32 * 1024)
    .refine((value) => !value.includes('\0'), 'must not hold NUL'),
});

/** A credential as it is shown: that it is there, never what it is. */
export const credentialViewSchema = z.object({
  name: credentialNameSchema,
  version: z.int(),
  changedBy: z.string(),
  changedAt: z.string(),
});
export type CredentialView = z.infer<typeof credentialViewSchema>;
export const credentialListSchema = z.object({ credentials: z.array(credentialViewSchema) });
