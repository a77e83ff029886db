import { z } from 'zod';

const amountsSchema = z.object({ actions: z.int(), minutes: z.number() });

export const extensionStates = ['waiting', 'granted', 'declined', 'expired', 'withdrawn'] as const;
/** Budgets that an extension can make larger. */
export const extendableCauses = ['time_budget', 'budget_actions'] as const;

/** The question that an interactive session asks when its budget is used up, and what became of it. */
export const extensionViewSchema = z
  .object({
    sessionId: z.string(),
    number: z.int(),
    /** The reason with which the session ends if nobody extends it. */
    cause: z.enum(extendableCauses),
    state: z.enum(extensionStates),
    used: amountsSchema,
    grants: amountsSchema.extend({ left: z.int() }),
    askedAt: z.string(),
    expiresAt: z.string(),
  })
  .meta({ id: 'Extension' });
export type ExtensionView = z.infer<typeof extensionViewSchema>;
export const extensionListSchema = z.object({ extensions: z.array(extensionViewSchema) });

/** Body of `POST /v1/sessions/:id/extension`: the answer to the question of that number, and to no later one. */
export const decideExtensionSchema = z.strictObject({
  decision: z.enum(['extend', 'end']),
  number: z.int().min(1),
});
export type DecideExtension = z.output<typeof decideExtensionSchema>;

/** Body of `PUT /v1/sessions/:id/client-run`: the name that a client gave its own run, new with each of its starts. */
export const clientRunSchema = z.strictObject({
  run: z.string().regex(/^[\w.:-]{8,128}$/, 'must be 8 to 128 letters, digits and _.:-'),
});
export const clientRunAnswerSchema = z.object({ restarted: z.boolean() });
