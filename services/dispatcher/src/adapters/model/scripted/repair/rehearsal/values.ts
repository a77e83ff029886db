/**
 * A rehearsal works out in the head what code of a repository would do. It is no JavaScript engine: guest values are
 * the records below, nothing of the host can be reached from them, every step is counted, and whatever is not known
 * here ends the rehearsal as unknowable. A wrong result costs a wasted try, never more: real test runs judge.
 */
export type Value =
  | undefined
  | null
  | boolean
  | number
  | string
  | readonly never[]
  | Value[]
  | GuestObject
  | GuestFunction
  | GuestPromise
  | Opaque
  | Date
  | RegExp
  | Map<Value, Value>
  | Set<Value>;

export interface Accessor {
  readonly get?: GuestFunction;
  readonly set?: GuestFunction;
}

export interface GuestObject {
  readonly kind: 'object';
  /** Members in order; private ones begin with `#`. */
  readonly members: Map<string, Value>;
  readonly accessors: Map<string, Accessor>;
  readonly proto: GuestObject | undefined;
  /** The constructor's name: `RangeError`, `Queue`; empty for plain objects. */
  readonly className: string;
}

export interface GuestFunction {
  readonly kind: 'function';
  readonly name: string;
  readonly invoke: (self: Value, args: readonly Value[]) => Value;
  /** Makes an instance; absent for what `new` does not take. */
  readonly construct?: (args: readonly Value[]) => Value;
  /** Static members and `prototype`. */
  readonly members: Map<string, Value>;
  readonly prototype?: GuestObject;
}

/** Everything is worked out at once, so a promise is settled when it is made. */
export interface GuestPromise {
  readonly kind: 'promise';
  readonly settled: { readonly value: Value } | { readonly thrown: Value };
}

/** Something of which only the name is known: a package, a file that has not been read. */
export interface Opaque {
  readonly kind: 'opaque';
  readonly name: string;
}

/** The code throws. */
export class GuestThrow extends Error {
  readonly value: Value;
  constructor(value: Value) {
    super('guest throw');
    this.value = value;
  }
}

/** The rehearsal cannot tell. */
export class Unknowable extends Error {}

export const unknowable = (what: string): never => {
  throw new Unknowable(what);
};

export function guestObject(className = '', proto?: GuestObject): GuestObject {
  return { kind: 'object', members: new Map(), accessors: new Map(), proto, className };
}

export function guestRecord(members: Readonly<Record<string, Value>>): GuestObject {
  return { ...guestObject(), members: new Map(Object.entries(members)) };
}

export function guestFunction(
  name: string,
  invoke: GuestFunction['invoke'],
  construct?: (args: readonly Value[]) => Value,
): GuestFunction {
  return { kind: 'function', name, invoke, members: new Map(), ...(construct && { construct }) };
}

export function guestError(className: string, message: string): GuestObject {
  const error = guestObject(className);
  error.members.set('message', message);
  error.members.set('name', className);
  return error;
}

export const fail = (className: string, message: string): never => {
  throw new GuestThrow(guestError(className, message));
};

export const isArray = (value: Value): value is Value[] => Array.isArray(value);
export function isKind<Kind extends 'object' | 'function' | 'promise' | 'opaque'>(
  value: Value,
  kind: Kind,
): value is Extract<Value, { readonly kind: Kind }> {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === kind;
}

/** `typeof` as the language says it. */
export function typeOf(value: Value): string {
  if (isKind(value, 'function')) return 'function';
  return isKind(value, 'opaque') ? unknowable(value.name) : typeof value;
}

/** A longer text or list is not worked out. */
export const longest = 20_000;

export function toText(value: Value): string {
  if (typeof value !== 'object' || value === null) return String(value);
  if (isArray(value)) return joinTexts(value, ',');
  if (isKind(value, 'object')) {
    const own = lookUp(value, 'toString');
    if (isKind(own, 'function')) return toText(own.invoke(value, []));
    if (!value.className.endsWith('Error')) return '[object Object]';
    return `${toText(value.members.get('name'))}: ${toText(value.members.get('message'))}`;
  }
  if (value instanceof Date || value instanceof RegExp) return String(value);
  return unknowable('text of a value');
}

export function joinTexts(list: readonly Value[], separator: string): string {
  let text = '';
  for (const [index, item] of list.entries()) {
    text += (index === 0 ? '' : separator) + (item == null ? '' : toText(item));
    if (text.length > longest) unknowable('a long text');
  }
  return text;
}

export function toNumber(value: Value): number {
  if (typeof value !== 'object' || value === null) return Number(value);
  return value instanceof Date ? value.getTime() : Number(toText(value));
}

export function toPrimitive(value: Value): string | number | boolean | null | undefined {
  if (typeof value !== 'object' || value === null) return value;
  if (isKind(value, 'object')) {
    const own = lookUp(value, 'valueOf');
    if (isKind(own, 'function')) return toPrimitive(own.invoke(value, []));
  }
  return toText(value);
}

export const isTrue = (value: Value): boolean =>
  isKind(value, 'opaque') ? unknowable(value.name) : Boolean(value);

/** A member of an object or its classes; accessors are called. */
export function lookUp(object: GuestObject, name: string): Value {
  for (let at: GuestObject | undefined = object; at !== undefined; at = at.proto) {
    const accessor = at.accessors.get(name);
    if (accessor !== undefined) return accessor.get?.invoke(object, []);
    if (at.members.has(name)) return at.members.get(name);
  }
  return undefined;
}

/** What `Object.keys` sees. */
export function publicMembers(object: GuestObject): [string, Value][] {
  const own = [...object.members].filter(([name]) => !name.startsWith('#'));
  const isIndex = (name: string): boolean => /^(?:0|[1-9]\d*)$/.test(name);
  // Indexes come first, in their own order.
  const indexes = own.filter(([name]) => isIndex(name)).sort((a, b) => Number(a[0]) - Number(b[0]));
  const got = [...object.accessors].flatMap(([name, { get }]): [string, Value][] =>
    get === undefined || object.className !== '' ? [] : [[name, get.invoke(object, [])]],
  );
  return [...indexes, ...own.filter(([name]) => !isIndex(name)), ...got];
}

const sameLists = (left: readonly Value[], right: readonly Value[], isLoose: boolean): boolean =>
  left.length === right.length && left.every((item, index) => isDeepEqual(item, right[index], isLoose));

/** `deepStrictEqual`, or `deepEqual` where the comparison is loose. */
export function isDeepEqual(left: Value, right: Value, isLoose = false): boolean {
  if (isKind(left, 'opaque') || isKind(right, 'opaque')) return unknowable('a value from elsewhere');
  if (Object.is(left, right)) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) {
    return isLoose && toPrimitive(left) == toPrimitive(right);
  }
  if (isArray(left) || isArray(right)) {
    return isArray(left) && isArray(right) && sameLists(left, right, isLoose);
  }
  if (left instanceof Date && right instanceof Date) return left.getTime() === right.getTime();
  if (left instanceof RegExp && right instanceof RegExp) return String(left) === String(right);
  if (left instanceof Set && right instanceof Set) return sameLists([...left], [...right], isLoose);
  if (left instanceof Map && right instanceof Map) {
    return sameLists([...left].flat(), [...right].flat(), isLoose);
  }
  if (!isKind(left, 'object') || !isKind(right, 'object')) return false;
  if (!isLoose && left.className !== right.className) return false;
  const [mine, others] = [publicMembers(left), new Map(publicMembers(right))];
  return (
    mine.length === others.size &&
    mine.every(([name, value]) => others.has(name) && isDeepEqual(value, others.get(name), isLoose))
  );
}
