import { z } from 'zod';

/** How far an agent may hand parts of its task to sub-agents. Levels below the session that a person opened. */
export const delegationSchema = z.strictObject({
  /** 0: no sub-agents. */
  maxDepth: z.int().min(0).max(3).default(1),
  /** Sub-agents of one session, all told. */
  maxChildren: z.int().min(1).max(50).default(8),
});
export type Delegation = z.output<typeof delegationSchema>;

const usual = delegationSchema.parse({});

/** The policy's rule, or the usual one. */
export function delegationOf(policy: { readonly delegation?: Delegation | undefined }): Delegation {
  return policy.delegation ?? usual;
}

/** Whether a session so many levels below the person's own may have sub-agents. */
export function mayDelegate(
  policy: { readonly delegation?: Delegation | undefined },
  depth: number,
): boolean {
  return depth < delegationOf(policy).maxDepth;
}
