import type { Scope } from './scope.ts';
import { declare, innerScope } from './scope.ts';
import { listOf } from './members.ts';
import {
  fail,
  guestError,
  guestFunction,
  guestObject,
  guestRecord,
  isArray,
  isKind,
  isTrue,
  longest,
  publicMembers,
  toNumber,
  toText,
  unknowable,
} from './values.ts';
import type { GuestFunction, Value } from './values.ts';

type Native = (args: readonly Value[], self: Value) => Value;
const natives = (table: Readonly<Record<string, Native>>): Map<string, Value> =>
  new Map(
    Object.entries(table).map(([name, work]) => [
      name,
      guestFunction(name, (self, args) => work(args, self)),
    ]),
  );

function namespace(
  table: Readonly<Record<string, Native>>,
  constants: Readonly<Record<string, Value>> = {},
): Value {
  return { ...guestObject(), members: new Map([...natives(table), ...Object.entries(constants)]) };
}

function type(
  name: string,
  call: Native,
  statics: Readonly<Record<string, Native>> = {},
  construct?: (args: readonly Value[]) => Value,
): GuestFunction {
  const made = guestFunction(name, (self, args) => call(args, self), construct);
  return { ...made, members: natives(statics) };
}

const mathNames =
  'abs acos asin atan atan2 cbrt ceil cos exp expm1 floor fround hypot log log10 log1p log2 max min pow round sign sin sqrt tan trunc';
const mathTable = Object.fromEntries(
  mathNames
    .split(' ')
    .map((name): [string, Native] => [
      name,
      (args) => (Reflect.get(Math, name) as (...numbers: number[]) => number)(...args.map(toNumber)),
    ]),
);

const numberConstants = {
  MAX_SAFE_INTEGER: Number.MAX_SAFE_INTEGER,
  MIN_SAFE_INTEGER: Number.MIN_SAFE_INTEGER,
  EPSILON: Number.EPSILON,
  MAX_VALUE: Number.MAX_VALUE,
  MIN_VALUE: Number.MIN_VALUE,
  POSITIVE_INFINITY: Infinity,
  NEGATIVE_INFINITY: -Infinity,
  NaN,
};

const membersOf = (value: Value): [string, Value][] => {
  if (isKind(value, 'object')) return publicMembers(value);
  if (isArray(value)) return value.map((item, index) => [String(index), item]);
  if (value == null) return fail('TypeError', 'Cannot convert undefined or null to object');
  return typeof value === 'object' ? unknowable('members') : [];
};

function fromEntries(list: Value): Value {
  const object = guestObject();
  for (const entry of listOf(list)) {
    const [key, value] = listOf(entry);
    object.members.set(toText(key), value);
  }
  return object;
}

const objectTable: Readonly<Record<string, Native>> = {
  keys: ([value]) => membersOf(value).map(([name]) => name),
  values: ([value]) => membersOf(value).map(([, member]) => member),
  entries: ([value]) => membersOf(value).map(([name, member]): Value => [name, member]),
  fromEntries: ([list]) => fromEntries(list),
  // What is frozen is written to by mistake only, and then the real run tells.
  freeze: ([value]) => value,
  is: ([left, right]) => Object.is(left, right),
  hasOwn: ([object, name]) => membersOf(object).some(([own]) => own === toText(name)),
  assign: ([target, ...sources]) => {
    if (!isKind(target, 'object')) return unknowable('assign');
    for (const source of sources) {
      if (source != null) for (const [name, value] of membersOf(source)) target.members.set(name, value);
    }
    return target;
  },
};

function listFrom([source, map]: readonly Value[]): Value {
  const length = isKind(source, 'object') ? toNumber(source.members.get('length')) : Number.NaN;
  if (length > longest) return unknowable('a long list');
  const items = Number.isNaN(length) ? [...listOf(source)] : Array.from({ length }, (): Value => undefined);
  return isKind(map, 'function') ? items.map((item, index) => map.invoke(undefined, [item, index])) : items;
}

function newList(args: readonly Value[]): Value {
  const [length] = args;
  if (args.length !== 1 || typeof length !== 'number') return [...args];
  if (length > longest || !Number.isInteger(length) || length < 0) return unknowable('a list');
  return Array.from({ length }, (): Value => undefined);
}

function newDate(args: readonly Value[]): Value {
  const [first] = args;
  // Now is another time in the real run.
  if (args.length === 0) return unknowable('now');
  if (args.length > 1) {
    const [year = 0, month = 0, ...rest] = args.map(toNumber);
    return new Date(year, month, ...rest);
  }
  return new Date(
    first instanceof Date ? first.getTime() : typeof first === 'string' ? first : toNumber(first),
  );
}

function dateUtc(args: readonly Value[]): Value {
  const [year = Number.NaN, ...rest] = args.map(toNumber);
  return Date.UTC(year, ...(rest as [number]));
}

function errorType(name: string): GuestFunction {
  const fill = (error: Value, [message, options]: readonly Value[]): Value => {
    if (!isKind(error, 'object')) return error;
    if (!error.members.has('name')) error.members.set('name', name);
    error.members.set('message', message === undefined ? '' : toText(message));
    if (isKind(options, 'object')) error.members.set('cause', options.members.get('cause'));
    return error;
  };
  return type(
    name,
    // `super(message)` of a guest's class comes with the instance.
    (args, self) => fill(isKind(self, 'object') ? self : guestError(name, ''), args),
    { captureStackTrace: () => undefined },
    (args) => fill(guestError(name, ''), args),
  );
}

function toJson(value: Value): unknown {
  if (isArray(value)) return value.map(toJson);
  if (isKind(value, 'object')) {
    return Object.fromEntries(publicMembers(value).map(([name, member]) => [name, toJson(member)]));
  }
  if (typeof value !== 'object' || value === null) return value;
  return value instanceof Date ? value : isKind(value, 'function') ? undefined : unknowable('JSON');
}

function fromJson(value: unknown): Value {
  if (Array.isArray(value)) return value.map(fromJson);
  if (typeof value !== 'object' || value === null) return value as Value;
  return guestRecord(Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fromJson(one)])));
}

function parseJson([text]: readonly Value[]): Value {
  try {
    return fromJson(JSON.parse(toText(text)));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return fail('SyntaxError', error.message);
  }
}

const resolved = (value: Value): Value =>
  isKind(value, 'promise') ? value : { kind: 'promise', settled: { value } };

function allOf([list]: readonly Value[]): Value {
  const all = listOf(list).map((one) => (isKind(one, 'promise') ? one.settled : { value: one }));
  const thrown = all.find((one) => 'thrown' in one);
  if (thrown !== undefined) return { kind: 'promise', settled: thrown };
  return resolved(all.map((one) => ('value' in one ? one.value : undefined)));
}

const quiet = namespace(
  Object.fromEntries(
    ['log', 'info', 'warn', 'error', 'debug'].map((name): [string, Native] => [name, () => undefined]),
  ),
);

const pair = (entry: Value): [Value, Value] => {
  const [key, value] = listOf(entry);
  return [key, value];
};

function createTable(): Readonly<Record<string, Value>> {
  const number = type('Number', ([value = 0]) => toNumber(value), {
    isInteger: ([value]) => Number.isInteger(value),
    isFinite: ([value]) => Number.isFinite(value),
    isNaN: ([value]) => Number.isNaN(value),
    isSafeInteger: ([value]) => Number.isSafeInteger(value),
    parseFloat: ([text]) => Number.parseFloat(toText(text)),
    parseInt: ([text, radix]) => Number.parseInt(toText(text), toNumber(radix ?? 10)),
  });
  for (const [name, value] of Object.entries(numberConstants)) number.members.set(name, value);
  return {
    NaN,
    Infinity,
    Math: namespace(mathTable, { PI: Math.PI, E: Math.E, LN2: Math.LN2, LN10: Math.LN10, SQRT2: Math.SQRT2 }),
    Number: number,
    String: type('String', (args) => (args.length === 0 ? '' : toText(args[0])), {
      fromCharCode: (codes) => String.fromCharCode(...codes.map(toNumber)),
      fromCodePoint: (codes) => String.fromCodePoint(...codes.map(toNumber)),
    }),
    Boolean: type('Boolean', ([value]) => isTrue(value)),
    Object: type('Object', ([value]) => value ?? guestObject(), objectTable),
    Array: type(
      'Array',
      newList,
      { isArray: ([value]) => isArray(value), of: (items) => [...items], from: listFrom },
      newList,
    ),
    Date: type(
      'Date',
      () => unknowable('now'),
      { UTC: dateUtc, parse: ([text]) => Date.parse(toText(text)), now: () => unknowable('now') },
      newDate,
    ),
    Map: type(
      'Map',
      () => fail('TypeError', 'Map'),
      {},
      ([list]) => new Map(list == null ? [] : listOf(list).map(pair)),
    ),
    Set: type(
      'Set',
      () => fail('TypeError', 'Set'),
      {},
      ([list]) => new Set(list == null ? [] : listOf(list)),
    ),
    JSON: namespace({
      parse: parseJson,
      stringify: ([value, , space]) =>
        JSON.stringify(toJson(value), null, typeof space === 'number' ? space : undefined),
    }),
    Promise: type('Promise', () => unknowable('a promise'), {
      resolve: ([value]) => resolved(value),
      reject: ([thrown]) => ({ kind: 'promise', settled: { thrown } }),
      all: allOf,
    }),
    parseInt: number.members.get('parseInt'),
    parseFloat: number.members.get('parseFloat'),
    isNaN: guestFunction('isNaN', (_self, [value]) => Number.isNaN(toNumber(value))),
    isFinite: guestFunction('isFinite', (_self, [value]) => Number.isFinite(toNumber(value))),
    structuredClone: guestFunction('structuredClone', (_self, [value]) => fromJson(toJson(value))),
    console: quiet,
  };
}

const errorNames = [
  'Error',
  'TypeError',
  'RangeError',
  'SyntaxError',
  'ReferenceError',
  'EvalError',
  'URIError',
];

/** The names that every module finds; made anew for each rehearsal, since guests may write to them. */
export function createGlobals(): Scope {
  const scope = innerScope(undefined);
  for (const [name, value] of Object.entries(createTable())) declare(scope, name, value);
  for (const name of errorNames) declare(scope, name, errorType(name));
  return scope;
}
