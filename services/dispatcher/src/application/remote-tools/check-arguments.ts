import { Validator } from '@cfworker/json-schema';
import type { Schema } from '@cfworker/json-schema';
import type { JsonObject, JsonValue } from '@lemniscate/shared/json.ts';
import { isDeeperThan } from '../json-walk.ts';

/** Longest schema that is looked at, as JSON, and how deep it may be. */
const maxSchemaLength = 64 * 1024;
const maxDepth = 32;
/** Longest arguments, as JSON. */
export const maxArgumentsLength = 256 * 1024;

/**
 * Keywords that are left to the server: a stranger's regular expression must not run on our event loop, and what
 * depends on one cannot be judged without it.
 */
const left: readonly string[] = ['pattern', 'format', 'patternProperties', 'not', 'if', 'then', 'else'];
const afterPatterns: readonly string[] = ['additionalProperties', 'unevaluatedProperties'];
/** Keywords whose members have names that somebody chose. */
const named: readonly string[] = ['properties', '$defs', 'definitions', 'dependentSchemas'];
/** Keywords whose values are data. */
const data: readonly string[] = ['const', 'enum', 'default', 'examples'];

type Json = JsonValue | undefined;

function judged(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map((one: JsonValue) => judged(one) ?? null);
  if (typeof schema !== 'object' || schema === null) return schema;
  const members = Object.entries(schema as JsonObject);
  const hasPatterns = members.some(([key]) => key === 'patternProperties');
  return Object.fromEntries(
    members.flatMap(([key, value]): [string, JsonValue][] => {
      if (left.includes(key) || (hasPatterns && afterPatterns.includes(key))) return [];
      if (data.includes(key)) return [[key, value]];
      if (named.includes(key) && typeof value === 'object' && value !== null && !Array.isArray(value))
        return [
          [key, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, judged(one) ?? {}]))],
        ];
      return [[key, judged(value) ?? null]];
    }),
  );
}

/**
 * Looks into a schema until the judgement has an end. References that branch cost twice as much with every level, of the
 * schema or of what a sandbox sends; a usual one is done after a few thousand looks.
 */
const mostLooks = 5_000_000;

/** The schema, which fails when it has been looked into too often. */
function bounded(schema: Json): Schema {
  let left = mostLooks;
  const wrap = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(wrap);
    if (typeof value !== 'object' || value === null) return value;
    const members = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, wrap(one)]));
    return new Proxy(members, {
      get: (target, key) => {
        left -= 1;
        if (left < 0) throw new Error('its references branch too often');
        return Reflect.get(target, key) as unknown;
      },
    });
  };
  return wrap(schema) as Schema;
}

/** What is wrong with a server's schema of arguments; null: it can be used. */
export function faultOfSchema(schema: JsonObject): string | null {
  if (JSON.stringify(schema).length > maxSchemaLength)
    return `it is longer than ${maxSchemaLength} characters`;
  if (isDeeperThan(schema, maxDepth)) return `it is nested deeper than ${maxDepth} levels`;
  if (schema['type'] !== 'object') return 'its type is not object';
  try {
    new Validator(bounded(judged(schema)), '2020-12').validate({});
    return null;
  } catch (error) {
    return `it cannot be read (${(error as Error).message.slice(0, 200)})`;
  }
}

/**
 * Whether arguments fit a tool's schema.
 * @returns null, or a sentence for the model
 */
export function faultOfArguments(schema: JsonObject, args: JsonObject): string | null {
  if (JSON.stringify(args).length > maxArgumentsLength)
    return `they are longer than ${maxArgumentsLength} characters`;
  try {
    const { valid, errors } = new Validator(bounded(judged(schema)), '2020-12', false).validate(args);
    if (valid) return null;
    return errors
      .slice(0, 5)
      .map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`)
      .join('; ')
      .slice(0, 1000);
  } catch (error) {
    return `the tool's schema cannot be read (${(error as Error).message.slice(0, 200)})`;
  }
}
