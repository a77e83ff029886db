import { z } from 'zod';
import type { CloudEvent } from './cloud-event.ts';

/** An attribute of the event, or a member of its data: `type`, `subject`, `data.object.status`. */
const path = z
  .string()
  .max(200)
  .regex(/^([a-z0-9]{1,64}|data(\.[\w-]{1,64}){1,8})$/, 'must be an attribute or data.member');
const texts = z
  .record(path, z.string().max(1024))
  .refine((wanted) => Object.keys(wanted).length === 1, 'must name one attribute');

/**
 * A filter as CloudEvents' subscriptions have them: `exact`, `prefix` and `suffix` compare one attribute, `all`, `any` and
 * `not` combine. Members of the data can be named like attributes.
 */
export type EventFilter =
  | { exact: Record<string, string> }
  | { prefix: Record<string, string> }
  | { suffix: Record<string, string> }
  | { all: EventFilter[] }
  | { any: EventFilter[] }
  | { not: EventFilter };

/** How deep filters may be nested. */
const maxDepth = 4;

function filterAt(depth: number): z.ZodType<EventFilter> {
  const leaves = [
    z.strictObject({ exact: texts }),
    z.strictObject({ prefix: texts }),
    z.strictObject({ suffix: texts }),
  ] as const;
  if (depth >= maxDepth) return z.union(leaves);
  const inner = filterAt(depth + 1);
  const several = z.array(inner).min(1).max(20);
  return z.union([
    ...leaves,
    z.strictObject({ all: several }),
    z.strictObject({ any: several }),
    z.strictObject({ not: inner }),
  ]);
}

export const eventFilterSchema = filterAt(1);

/** Comparisons of one trigger: they are made for every event of its project, one after the other. */
export const maxComparisons = 100;

function comparisonsOf(filter: EventFilter): number {
  if ('not' in filter) return comparisonsOf(filter.not);
  const several = 'all' in filter ? filter.all : 'any' in filter ? filter.any : null;
  return several === null ? 1 : several.reduce((sum, one) => sum + comparisonsOf(one), 0);
}

/** What a trigger waits for: all of these have to fit. */
export const eventFiltersSchema = z
  .array(eventFilterSchema)
  .min(1)
  .max(20)
  .refine(
    (filters) => filters.reduce((sum, filter) => sum + comparisonsOf(filter), 0) <= maxComparisons,
    `must make at most ${maxComparisons} comparisons in all`,
  );

/** The text of an attribute or member; null where the event has none, or it is no single value. */
function valueOf(event: CloudEvent, name: string): string | null {
  let value: unknown = event;
  for (const member of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, member)) return null;
    value = (value as Record<string, unknown>)[member];
  }
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : null;
}

/** Whether the event fits; an attribute that it does not have fits nothing but a `not`. */
export function matchesFilter(event: CloudEvent, filter: EventFilter): boolean {
  if ('all' in filter) return filter.all.every((one) => matchesFilter(event, one));
  if ('any' in filter) return filter.any.some((one) => matchesFilter(event, one));
  if ('not' in filter) return !matchesFilter(event, filter.not);
  const [[comparison, wanted] = ['', {}]] = Object.entries(filter);
  const [[name, text] = ['', '']] = Object.entries(wanted);
  const value = valueOf(event, name);
  if (value === null) return false;
  if (comparison === 'exact') return value === text;
  return comparison === 'prefix' ? value.startsWith(text) : value.endsWith(text);
}

/** Which of the filters an event does not pass, each as its JSON: what a dry run shows. */
export function unmatched(event: CloudEvent, filters: readonly EventFilter[]): string[] {
  return filters.filter((filter) => !matchesFilter(event, filter)).map((filter) => JSON.stringify(filter));
}
