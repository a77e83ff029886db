import { parse } from 'yaml';
import { z } from 'zod';
import { CodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { isFactName } from './facts.ts';
import type { FactName } from './facts.ts';

const factName = z.custom<FactName>(
  (name) => typeof name === 'string' && isFactName(name),
  'is no known fact',
);

/** `present`, `absent`, `/pattern/flags`, a number's bound, or the very value. */
const conditionSchema = z.union([
  z.string(),
  z.number(),
  z.strictObject({ at_least: z.number() }),
  z.strictObject({ at_most: z.number() }),
]);
export type Condition = z.infer<typeof conditionSchema>;

const ruleSchema = z.strictObject({
  name: z.string().min(1),
  when: z.partialRecord(factName, conditionSchema).default({}),
  say: z.string().default(''),
  call: z
    .strictObject({ tool: z.string().min(1), input: z.record(z.string(), z.union([z.string(), z.number()])) })
    .optional(),
  hand_over: z.string().optional(),
});
export type Rule = z.infer<typeof ruleSchema>;

/** A script: its first rule that holds says what the model answers. No call and no hand-over ends the turn. */
export const scriptSchema = z.strictObject({
  name: z.string().min(1),
  about: z.string().min(1),
  /** The scripts are asked in order; without a pattern a script takes every instruction. */
  instruction: z.string().optional(),
  rules: z.array(ruleSchema).min(1),
});
export type Script = z.infer<typeof scriptSchema>;

/** Reads a script from YAML. @throws CodedError `configuration_invalid` that names the script and the place */
export function parseScript(name: string, yaml: string): Script {
  const parsed = scriptSchema.safeParse(parse(yaml));
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  throw new CodedError(
    'configuration_invalid',
    `The model script ${name} cannot be read: ${faults.join('; ')}. Correct the script file.`,
    { script: name, faults },
  );
}
