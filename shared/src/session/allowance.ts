import { z } from 'zod';

/** The three bounds of a session's own budget. Minutes are working minutes. */
export const sessionBoundsSchema = z.strictObject({
  maxActions: z.int().min(1).max(100_000).optional(),
  maxMinutes: z.int().min(1).max(10_080).optional(),
  maxExtensions: z.int().min(0).max(1000).optional(),
});
export type SessionBounds = z.output<typeof sessionBoundsSchema>;

/** What one extension grants. */
export const extensionGrant = { actions: 50, minutes: 15 } as const;

/** What a session may use until it has to stop or ask. */
export interface Allowance {
  readonly actions: number;
  readonly minutes: number;
  readonly extensionsLeft: number;
}

/**
 * What a session may use with the extensions that it was granted. A client's bounds count where they are tighter than
 * the policy's: nobody loosens a policy from where they sit.
 */
export function allowanceOf(
  policy: Readonly<Record<keyof SessionBounds, number>>,
  client: SessionBounds | null,
  extensionsUsed: number,
): Allowance {
  const bound = (name: keyof SessionBounds): number => Math.min(policy[name], client?.[name] ?? Infinity);
  return {
    actions: bound('maxActions') + extensionsUsed * extensionGrant.actions,
    minutes: bound('maxMinutes') + extensionsUsed * extensionGrant.minutes,
    extensionsLeft: Math.max(0, bound('maxExtensions') - extensionsUsed),
  };
}
