import { z } from 'zod';
import { CodedError } from '../errors/coded-error.ts';
import { secret } from './secret.ts';

/** Shapes that variables have; each refuses an unreadable text and never falls back to its default. */
export const variable = {
  text: () => z.string().min(1),
  integer: (min: number, max: number) =>
    z
      .string()
      .regex(/^-?\d+$/, 'must be a whole number')
      .transform(Number)
      .pipe(z.number().int().min(min).max(max)),
  boolean: () => z.enum(['true', 'false']).transform((text) => text === 'true'),
  url: (...protocols: string[]) =>
    z
      .string()
      .refine(
        (text) =>
          URL.canParse(text) && (protocols.length === 0 || protocols.includes(new URL(text).protocol)),
        `must be a URL${protocols.length > 0 ? ` that begins with ${protocols.join(' or ')}` : ''}`,
      ),
  secret: () => z.string().min(1).transform(secret),
  oneOf: <const Values extends readonly [string, ...string[]]>(values: Values) => z.enum(values),
} as const;

/**
 * Reads a service's variables at start. An empty variable counts as absent; an unreadable one is fatal and named.
 * @throws CodedError `configuration_invalid` with every faulty variable's name, never its value
 */
export function readEnvironment<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  environment: Readonly<Record<string, string | undefined>>,
): z.infer<z.ZodObject<Shape>> {
  const given = Object.fromEntries(
    Object.keys(schema.shape).flatMap((name) => {
      const text = environment[name];
      return text === undefined || text === '' ? [] : [[name, text]];
    }),
  );
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  throw new CodedError(
    'configuration_invalid',
    `Cannot start with this configuration. ${faults.join('; ')}. Set the variable to a readable value or unset it.`,
    { faults },
  );
}
