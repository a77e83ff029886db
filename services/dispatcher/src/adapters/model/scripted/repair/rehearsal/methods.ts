import { isHarmlessPattern } from './patterns.ts';
import {
  fail,
  guestFunction,
  isArray,
  isKind,
  joinTexts,
  longest,
  toNumber,
  toText,
  unknowable,
} from './values.ts';
import type { GuestFunction, Value } from './values.ts';

const names = (list: string): ReadonlySet<string> => new Set(list.split(' '));

const textMethods = names(
  'at charAt charCodeAt codePointAt concat endsWith includes indexOf lastIndexOf localeCompare normalize padEnd ' +
    'padStart repeat slice startsWith substr substring toLowerCase toString toUpperCase trim trimEnd trimStart valueOf ' +
    'toLocaleLowerCase toLocaleUpperCase',
);
const patternMethods = names('match matchAll replace replaceAll search split');
const numberMethods = names('toFixed toPrecision toString toExponential valueOf');
const listMethods = names(
  'at concat copyWithin entries every fill filter find findIndex findLast findLastIndex flat flatMap forEach includes ' +
    'indexOf keys lastIndexOf map pop push reduce reduceRight reverse shift slice some sort splice toReversed ' +
    'toSorted toSpliced unshift values with',
);
const mapMethods = names('get set has delete clear forEach keys values entries');
const setMethods = names(
  'add has delete clear forEach keys values entries union intersection difference isSubsetOf isSupersetOf',
);
const dateMethod =
  /^(?:[gs]et(?:UTC)?(?:Date|Day|Month|FullYear|Hours|Minutes|Seconds|Milliseconds|Time|TimezoneOffset)|toISOString|toJSON|valueOf|toDateString|toUTCString|toString)$/;

/** A guest's function as one that the host's list methods can call. */
const toHost = (value: Value): unknown =>
  isKind(value, 'function') ? (...args: Value[]) => value.invoke(undefined, args) : value;

/** Methods that call their first argument; to all others a function is a value. */
const callsBack = names(
  'every filter find findIndex findLast findLastIndex flatMap forEach map reduce reduceRight some sort toSorted',
);
const toArguments = (name: string, args: readonly Value[]): unknown[] =>
  args.map((arg, index) => (index === 0 && callsBack.has(name) ? toHost(arg) : arg));

const isIterator = (value: unknown): value is Iterable<unknown> =>
  typeof value === 'object' && value !== null && 'next' in value && Symbol.iterator in value;

/** What a host method answers, as a guest value: iterators become lists. */
function toGuest(value: unknown): Value {
  if (isIterator(value)) return [...value] as Value[];
  return value as Value;
}

function bounded(value: Value): Value {
  const length = typeof value === 'string' || isArray(value) ? value.length : 0;
  return length > longest ? unknowable('a long value') : value;
}

function callHost(receiver: object | string | number, name: string, args: readonly unknown[]): Value {
  const method: unknown = Reflect.get(Object(receiver), name);
  if (typeof method !== 'function') return fail('TypeError', `${name} is not a function`);
  try {
    return bounded(toGuest(Reflect.apply(method, receiver, args)));
  } catch (error) {
    if (error instanceof RangeError || error instanceof TypeError) return fail(error.name, error.message);
    throw error;
  }
}

/** Matches become lists; named groups are not worked out. */
const toMatch = (match: RegExpMatchArray): Value => {
  if (match.groups !== undefined) return unknowable('named groups');
  return [...match];
};

function callPatternMethod(text: string, name: string, args: readonly Value[]): Value {
  const [what, other] = args;
  if (what instanceof RegExp && !isHarmlessPattern(what.source, text)) return unknowable('a pattern');
  if (name === 'split' && !(what instanceof RegExp)) return callHost(text, name, [toText(what)]);
  if (name === 'match' || name === 'matchAll') {
    if (!(what instanceof RegExp)) return unknowable('match of a text');
    if (name === 'matchAll') return [...text.matchAll(what)].map(toMatch);
    const match = what.exec(text);
    if (match === null) return null;
    return what.global ? [...(text.match(what) ?? [])] : toMatch(match);
  }
  if (name === 'search' || name === 'split') return callHost(text, name, [what]);
  const replacement = isKind(other, 'function')
    ? (...found: Value[]) => toText(other.invoke(undefined, found))
    : toText(other);
  return callHost(text, name, [what instanceof RegExp ? what : toText(what), replacement]);
}

function textMethod(text: string, name: string): Value {
  if (patternMethods.has(name)) {
    return guestFunction(name, (_self, args) => callPatternMethod(text, name, args));
  }
  if (!textMethods.has(name)) return undefined;
  return guestFunction(name, (_self, args) => {
    const size = name === 'repeat' ? toNumber(args[0]) * text.length : toNumber(args[0]);
    if (/^(?:repeat|pad)/.test(name) && size > longest) return unknowable('a long text');
    return callHost(
      text,
      name,
      args.map((arg) => (typeof arg === 'object' && arg !== null ? toText(arg) : arg)),
    );
  });
}

function listMethod(list: Value[], name: string, spend: (steps: number) => void): Value {
  if (name === 'join' || name === 'toString') {
    return guestFunction(name, (_self, [separator]) =>
      joinTexts(list, separator === undefined ? ',' : toText(separator)),
    );
  }
  if (!listMethods.has(name)) return undefined;
  return guestFunction(name, (_self, args) => {
    spend(1 + list.length / 8);
    if ((name === 'sort' || name === 'toSorted') && args[0] === undefined) {
      const byText = (left: Value, right: Value): number => (toText(left) < toText(right) ? -1 : 1);
      return name === 'sort' ? list.sort(byText) : list.toSorted(byText);
    }
    const result = callHost(list, name, toArguments(name, args));
    bounded(list);
    return result;
  });
}

const hostMethod = (receiver: object | number, name: string): GuestFunction =>
  guestFunction(name, (_self, args) => callHost(receiver, name, toArguments(name, args)));

function patternMember(pattern: RegExp, name: string): Value {
  if (name === 'source' || name === 'flags' || name === 'lastIndex') return pattern[name];
  if (name !== 'test' && name !== 'exec') return unknowable(`pattern.${name}`);
  return guestFunction(name, (_self, [subject]) => {
    const text = toText(subject);
    if (!isHarmlessPattern(pattern.source, text)) return unknowable('a pattern');
    const match = pattern.exec(text);
    return name === 'test' ? match !== null : match === null ? null : toMatch(match);
  });
}

/** A member of a value that the language itself gives it; undefined when it has none of that name. */
export function builtInMember(value: Value, name: string, spend: (steps: number) => void): Value {
  if (typeof value === 'string') {
    if (name === 'length') return value.length;
    return /^\d+$/.test(name) ? value[Number(name)] : textMethod(value, name);
  }
  if (typeof value === 'number') return numberMethods.has(name) ? hostMethod(value, name) : undefined;
  if (typeof value === 'boolean') return undefined;
  if (isArray(value)) {
    if (name === 'length') return value.length;
    return /^\d+$/.test(name) ? value[Number(name)] : listMethod(value, name, spend);
  }
  if (value instanceof Map || value instanceof Set) {
    if (name === 'size') return value.size;
    return (value instanceof Map ? mapMethods : setMethods).has(name) ? hostMethod(value, name) : undefined;
  }
  if (value instanceof Date) return dateMethod.test(name) ? hostMethod(value, name) : undefined;
  return value instanceof RegExp ? patternMember(value, name) : unknowable(name);
}
