import type { JsonValue } from '../json.ts';
import { secretPatterns } from './patterns.ts';
import { findBySecretlint } from './secretlint-rules.ts';
import type { FoundSecret } from './secretlint-rules.ts';

/** No secret is shorter. */
const shortest = 16;
/** A digest or a number is none, and most of what a log line holds is one. */
const neverSecret = /^(?:[0-9a-f]+|[\d.:TZ-]+)$/;

/** Secrets in a text, in order, overlapping ones as one. */
export function findSecrets(text: string): FoundSecret[] {
  if (text.length < shortest || neverSecret.test(text)) return [];
  const found = [...findBySecretlint(text), ...findByForm(text)].toSorted(
    (one, other) => one.from - other.from || other.to - one.to,
  );
  const merged: FoundSecret[] = [];
  for (const secret of found) {
    const last = merged.at(-1);
    if (last === undefined || secret.from >= last.to) merged.push(secret);
    else if (secret.to > last.to) merged[merged.length - 1] = { ...last, to: secret.to };
  }
  return merged;
}

function findByForm(text: string): FoundSecret[] {
  return secretPatterns.flatMap(({ kind, form }) =>
    [...text.matchAll(form)].map((match) => {
      const secret = match.groups?.['secret'] ?? match[0];
      const from = match.index + match[0].lastIndexOf(secret);
      return { kind, from, to: from + secret.length };
    }),
  );
}

/** The text with each secret replaced by its kind. What a form does not tell (a plain word as password) stays. */
export function redactSecrets(text: string): string {
  const found = findSecrets(text);
  if (found.length === 0) return text;
  let redacted = '';
  let at = 0;
  for (const { kind, from, to } of found) {
    redacted += `${text.slice(at, from)}[secret:${kind}]`;
    at = to;
  }
  return redacted + text.slice(at);
}

/** The same for every text in a JSON value, member names aside. */
export function redactValue<Value extends JsonValue | object>(value: Value): Value {
  return walk(value) as Value;
}

function walk(value: unknown): unknown {
  if (typeof value === 'string') return redactSecrets(value);
  if (Array.isArray(value)) return value.map(walk);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, walk(member)]));
}
