import type { JsonValue } from '../json.ts';

/** What is hashed: who, when, where, what. */
export interface Envelope {
  readonly type: string;
  /** RFC 3339 with milliseconds, UTC. */
  readonly at: string;
  readonly subject: string;
  readonly body: Readonly<Record<string, JsonValue>>;
}

/** Members that an envelope may have, and what each must be. */
const members: Readonly<Record<string, (value: JsonValue) => boolean>> = {
  v: (value) => value === 1,
  type: isName,
  at: (value) => typeof value === 'string' && isTime(value),
  subject: isName,
  attempt: Number.isSafeInteger,
  server: (value) => typeof value === 'string',
  body: isRecord,
};
const needed = ['v', 'type', 'at', 'subject', 'body'];

/**
 * The envelope in a value; null where it is none. Read by hand and not by a schema: a verifier does it for each of
 * millions of entries, and zod took half as long again as parsing and hashing the entry.
 */
export function readEnvelope(value: JsonValue): Envelope | null {
  if (!isRecord(value)) return null;
  let found = 0;
  for (const name of Object.keys(value)) {
    const member = value[name];
    const fits = Object.hasOwn(members, name) ? members[name] : undefined;
    if (fits === undefined || member === undefined || !fits(member)) return null;
    found += 1;
  }
  const optional = Number(Object.hasOwn(value, 'attempt')) + Number(Object.hasOwn(value, 'server'));
  return found - optional === needed.length ? (value as unknown as Envelope) : null;
}

const timePattern =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

/** Whether a text is a time as entries have it: RFC 3339 with milliseconds, UTC, of a day that there is. */
export function isTime(text: string): boolean {
  if (!timePattern.test(text)) return false;
  const day = Number(text.slice(8, 10));
  // day 0 of the month after is the last of this one
  return (
    day <= 28 || day <= new Date(Date.UTC(Number(text.slice(0, 4)), Number(text.slice(5, 7)), 0)).getUTCDate()
  );
}

function isName(value: JsonValue): boolean {
  return typeof value === 'string' && value !== '';
}

function isRecord(value: JsonValue): value is Readonly<Record<string, JsonValue>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
