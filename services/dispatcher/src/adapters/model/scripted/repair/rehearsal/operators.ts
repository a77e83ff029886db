import { fail, isKind, longest, toNumber, toPrimitive, toText, unknowable } from './values.ts';
import { isArray } from './values.ts';
import type { GuestObject, Value } from './values.ts';

function add(left: Value, right: Value): Value {
  const [a, b] = [toPrimitive(left), toPrimitive(right)];
  if (typeof a !== 'string' && typeof b !== 'string') return Number(a) + Number(b);
  const text = String(a) + String(b);
  return text.length > longest ? unknowable('a long text') : text;
}

function compare(
  left: Value,
  right: Value,
  holds: (a: string | number, b: string | number) => boolean,
): boolean {
  if (typeof left === 'string' && typeof right === 'string') return holds(left, right);
  return holds(toNumber(left), toNumber(right));
}

function isLooselyEqual(left: Value, right: Value): boolean {
  if (left == null || right == null) return left == null && right == null;
  if (typeof left === 'object' && typeof right === 'object') return left === right;
  return toPrimitive(left) == toPrimitive(right);
}

function isInstance(value: Value, type: Value): boolean {
  if (!isKind(type, 'function')) return fail('TypeError', "Right-hand side of 'instanceof' is not callable");
  const hosts: Readonly<Record<string, boolean>> = {
    Array: isArray(value),
    Date: value instanceof Date,
    Map: value instanceof Map,
    Set: value instanceof Set,
    RegExp: value instanceof RegExp,
    Object: typeof value === 'object' && value !== null,
    Error: isKind(value, 'object') && value.className.endsWith('Error'),
  };
  if (type.prototype === undefined && Object.hasOwn(hosts, type.name)) return hosts[type.name] ?? false;
  if (!isKind(value, 'object')) return false;
  if (type.prototype === undefined) return value.className === type.name;
  for (let at: GuestObject | undefined = value.proto; at !== undefined; at = at.proto) {
    if (at === type.prototype) return true;
  }
  return false;
}

function hasMember(name: Value, object: Value): boolean {
  if (isArray(object)) return Number(name) in object;
  if (!isKind(object, 'object')) return fail('TypeError', "Cannot use 'in' operator");
  const key = toText(name);
  for (let at: GuestObject | undefined = object; at !== undefined; at = at.proto) {
    if (at.members.has(key) || at.accessors.has(key)) return true;
  }
  return false;
}

const arithmetic =
  (work: (a: number, b: number) => number) =>
  (left: Value, right: Value): Value =>
    work(toNumber(left), toNumber(right));

/** Binary operators by their sign; opaque values are unknowable before they come here. */
const binaryOperators: Readonly<Record<string, (left: Value, right: Value) => Value>> = {
  '+': add,
  '-': arithmetic((a, b) => a - b),
  '*': arithmetic((a, b) => a * b),
  '/': arithmetic((a, b) => a / b),
  '%': arithmetic((a, b) => a % b),
  '**': arithmetic((a, b) => a ** b),
  '&': arithmetic((a, b) => a & b),
  '|': arithmetic((a, b) => a | b),
  '^': arithmetic((a, b) => a ^ b),
  '<<': arithmetic((a, b) => a << b),
  '>>': arithmetic((a, b) => a >> b),
  '>>>': arithmetic((a, b) => a >>> b),
  '<': (left, right) => compare(left, right, (a, b) => a < b),
  '<=': (left, right) => compare(left, right, (a, b) => a <= b),
  '>': (left, right) => compare(left, right, (a, b) => a > b),
  '>=': (left, right) => compare(left, right, (a, b) => a >= b),
  '===': (left, right) => left === right,
  '!==': (left, right) => left !== right,
  '==': isLooselyEqual,
  '!=': (left, right) => !isLooselyEqual(left, right),
  instanceof: isInstance,
  in: hasMember,
};

export function applyBinary(operator: string, left: Value, right: Value): Value {
  if (isKind(left, 'opaque')) return unknowable(left.name);
  if (isKind(right, 'opaque')) return unknowable(right.name);
  const apply = Object.hasOwn(binaryOperators, operator) ? binaryOperators[operator] : undefined;
  return apply === undefined ? unknowable(operator) : apply(left, right);
}
