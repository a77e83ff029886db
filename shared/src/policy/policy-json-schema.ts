import { z } from 'zod';
import { boundSettings } from './policy-parts.ts';
import { policySchema } from './policy.ts';

/** A bound is written as a setting or among the budgets, never both. */
const boundsOnce = Object.entries(boundSettings).map(([setting, bound]) => ({
  not: { required: [setting, 'budgets'], properties: { budgets: { type: 'object', required: [bound] } } },
}));

/**
 * JSON Schema (draft 2020-12) of a policy as it is written, for editors and for the published documentation. It takes
 * exactly what the parser takes; a test holds them against each other.
 */
export function policyJsonSchema(): Record<string, unknown> {
  return {
    $id: 'https://lemniscate.invalid/schemas/policy.json',
    title: 'Project policy',
    ...z.toJSONSchema(policySchema, { io: 'input', target: 'draft-2020-12' }),
    allOf: boundsOnce,
  };
}
