import { z } from 'zod';

const names = z.array(z.string().min(1).max(200)).max(200);

/**
 * What a project's policy says to the model gateway. Everything in `allow` is off the gateway's lists: whoever names it
 * answers for where it leads, for a tool that runs at the provider reaches the network from there.
 */
export const gatewayRulesSchema = z.strictObject({
  allow: z
    .strictObject({ fields: names.optional(), toolTypes: names.optional(), betas: names.optional() })
    .optional(),
  /** Models that a session may ask beside its own, such as the small one that a command line uses for titles. */
  smallModels: names.optional(),
  /** Model that is asked instead when another's provider does not serve; the exchange says so. */
  fallbackModels: z.record(z.string().min(1).max(200), z.string().min(1).max(200)).optional(),
});
export type GatewayRules = z.output<typeof gatewayRulesSchema>;
