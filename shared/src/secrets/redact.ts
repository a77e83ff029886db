import type { JsonValue } from '../json.ts';
import { secretPatterns } from './patterns.ts';
import { findBySecretlint } from './secretlint-rules.ts';
import type { FoundSecret } from './secretlint-rules.ts';

/** No secret is shorter. */
const shortest = 16;
/** A digest, a number or an id of ours is none, and most of what an entry holds is one. */
const neverSecret = /^(?:[0-9a-f]+|[\d.:TZ-]+|[a-z]{1,8}_[0-9a-hjkmnp-tv-z]{26}|[a-z]+)$/;
/**
 * Without one of these in it a text cannot hold any of the forms: a run without a space as long as the shortest key, a
 * login in an address, the frame of a key. Most texts have none, and the search costs some 20 microseconds.
 */
const mayHoldOne = /[\w+/=~.:$@%-]{16}|:\/\/\S{0,80}@|-----BEGIN|PuTTY-User/;

/** Secrets in a text, in order, overlapping ones as one. */
export function findSecrets(text: string): FoundSecret[] {
  if (text.length < shortest || neverSecret.test(text) || !mayHoldOne.test(text)) return [];
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
  return secretPatterns.flatMap(({ kind, form }) => {
    // asking first: an iterator over nothing costs ten times as much
    form.lastIndex = 0;
    if (!form.test(text)) return [];
    return [...text.matchAll(new RegExp(form))].map((match) => {
      const secret = match.groups?.['secret'] ?? match[0];
      const from = match.index + match[0].lastIndexOf(secret);
      return { kind, from, to: from + secret.length };
    });
  });
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

/**
 * The same for every text in a JSON value, member names aside.
 * @param ids members that hold ids and words of ours, which others are found by: they stay as they are
 */
export function redactValue<Value extends JsonValue | object>(
  value: Value,
  ids?: ReadonlySet<string>,
): Value {
  return walk(value, ids) as Value;
}

/** What has no secret stays the same object: most values have none, and a copy of each costs as much as the search. */
function walk(value: unknown, ids: ReadonlySet<string> | undefined): unknown {
  if (typeof value === 'string') return redactSecrets(value);
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => walk(item, ids));
    return items.some((item, place) => item !== value[place]) ? items : value;
  }
  const changed = new Map<string, unknown>();
  for (const [name, member] of Object.entries(value)) {
    if (typeof member === 'string' && ids?.has(name) === true) continue;
    const redacted = walk(member, ids);
    if (redacted !== member) changed.set(name, redacted);
  }
  if (changed.size === 0) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, changed.has(name) ? changed.get(name) : member]),
  );
}
