import { builtInMember } from './methods.ts';
import { fail, isArray, isKind, lookUp, toText, unknowable } from './values.ts';
import { guestFunction } from './values.ts';
import type { GuestObject, Value } from './values.ts';

/** `object[name]` for any value. */
export function readMember(object: Value, name: string, spend: (steps: number) => void): Value {
  if (object === undefined || object === null) {
    return fail('TypeError', `Cannot read properties of ${object} (reading '${name}')`);
  }
  if (isKind(object, 'opaque') || isKind(object, 'promise')) return unknowable(name);
  if (isKind(object, 'function')) return functionMember(object, name);
  if (!isKind(object, 'object')) return builtInMember(object, name, spend);
  const found = lookUp(object, name);
  if (found !== undefined) return found;
  if (name === 'hasOwnProperty') {
    return guestFunction(name, (_self, [key]) => object.members.has(toText(key)));
  }
  return name === 'constructor' ? unknowable(name) : undefined;
}

function functionMember(target: Extract<Value, { readonly kind: 'function' }>, name: string): Value {
  if (target.members.has(name)) return target.members.get(name);
  if (name === 'name') return target.name;
  if (name === 'call') {
    return guestFunction(name, (_self, [self, ...args]) => target.invoke(self, args));
  }
  if (name === 'apply') {
    return guestFunction(name, (_self, [self, args]) => target.invoke(self, isArray(args) ? args : []));
  }
  if (name !== 'bind') return unknowable(name);
  return guestFunction(name, (_self, [self, ...first]) =>
    guestFunction(target.name, (_other, rest) => target.invoke(self, [...first, ...rest])),
  );
}

/** `object[name] = value`. */
export function writeMember(object: Value, name: string, value: Value): void {
  if (object === undefined || object === null) {
    return fail('TypeError', `Cannot set properties of ${object} (setting '${name}')`);
  }
  if (isArray(object)) return writeItem(object, name, value);
  if (isKind(object, 'function')) {
    object.members.set(name, value);
    return;
  }
  if (!isKind(object, 'object')) return unknowable(name);
  const setter = findSetter(object, name);
  if (setter !== undefined) {
    setter(value);
    return;
  }
  object.members.set(name, value);
}

function findSetter(object: GuestObject, name: string): ((value: Value) => void) | undefined {
  for (let at: GuestObject | undefined = object; at !== undefined; at = at.proto) {
    const set = at.accessors.get(name)?.set;
    if (set !== undefined) return (value) => void set.invoke(object, [value]);
  }
  return undefined;
}

function writeItem(list: Value[], name: string, value: Value): void {
  const index = Number(name);
  if (name === 'length') {
    if (typeof value !== 'number' || value > list.length) return unknowable('length');
    list.length = value;
    return;
  }
  // A hole would be a value of its own kind.
  if (!Number.isInteger(index) || index < 0 || index > list.length) return unknowable(`index ${name}`);
  list[index] = value;
}

/** The values that `for … of`, spread and list patterns see. */
export function listOf(value: Value): Value[] {
  if (isArray(value)) return value;
  if (typeof value === 'string') return Array.from(value);
  if (value instanceof Set) return [...value];
  if (value instanceof Map) return [...value].map(([key, one]) => [key, one]);
  if (value === undefined || value === null || typeof value !== 'object') {
    return fail('TypeError', `${toText(value)} is not iterable`);
  }
  return isKind(value, 'object') ? unknowable('an iterator') : unknowable('a list');
}
