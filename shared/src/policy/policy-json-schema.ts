import { z } from 'zod';
import { policySchema } from './policy.ts';

/** JSON Schema (draft 2020-12) of a policy as it is written, for editors and for the published documentation. */
export function policyJsonSchema(): Record<string, unknown> {
  return {
    $id: 'https://lemniscate.invalid/schemas/policy.json',
    title: 'Project policy',
    ...z.toJSONSchema(policySchema, { io: 'input', target: 'draft-2020-12' }),
  };
}
