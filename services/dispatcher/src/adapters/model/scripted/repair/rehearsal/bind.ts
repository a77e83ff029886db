import type { AnyNode } from 'acorn';
import type { Machine } from './machine.ts';
import { listOf, readMember, writeMember } from './members.ts';
import type { Scope } from './scope.ts';
import { fail, guestObject, isKind, publicMembers, toText, unknowable } from './values.ts';
import type { Value } from './values.ts';

/** What to do with a name of a pattern: declare it, or assign it. */
export type Bind = (name: string, value: Value) => void;

export function keyOf(machine: Machine, key: AnyNode, isComputed: boolean, scope: Scope): string {
  if (isComputed) return toText(machine.evaluate(key, scope));
  if (key.type === 'Identifier') return key.name;
  if (key.type === 'PrivateIdentifier') return `#${key.name}`;
  return key.type === 'Literal' ? String(key.value) : unknowable('a key');
}

/** Takes a value apart along a pattern. */
export function bindPattern(machine: Machine, target: AnyNode, value: Value, scope: Scope, bind: Bind): void {
  switch (target.type) {
    case 'Identifier':
      bind(target.name, value);
      return;
    case 'AssignmentPattern': {
      const chosen = value === undefined ? machine.evaluate(target.right, scope) : value;
      bindPattern(machine, target.left, chosen, scope, bind);
      return;
    }
    case 'MemberExpression': {
      const object = machine.evaluate(target.object, scope);
      writeMember(object, keyOf(machine, target.property, target.computed, scope), value);
      return;
    }
    case 'ArrayPattern': {
      const items = listOf(value);
      for (const [index, element] of target.elements.entries()) {
        if (element === null) continue;
        if (element.type === 'RestElement') {
          bindPattern(machine, element.argument, items.slice(index), scope, bind);
        } else bindPattern(machine, element, items[index], scope, bind);
      }
      return;
    }
    case 'ObjectPattern':
      bindMembers(machine, target, value, scope, bind);
      return;
    default:
      unknowable(target.type);
  }
}

function bindMembers(
  machine: Machine,
  pattern: Extract<AnyNode, { type: 'ObjectPattern' }>,
  value: Value,
  scope: Scope,
  bind: Bind,
): void {
  if (value === undefined || value === null) fail('TypeError', `Cannot destructure '${value}'.`);
  const taken = new Set<string>();
  for (const property of pattern.properties) {
    if (property.type === 'RestElement') {
      const rest = guestObject();
      if (!isKind(value, 'object')) return unknowable('rest');
      for (const [name, member] of publicMembers(value)) {
        if (!taken.has(name)) rest.members.set(name, member);
      }
      bindPattern(machine, property.argument, rest, scope, bind);
      continue;
    }
    const name = keyOf(machine, property.key, property.computed, scope);
    taken.add(name);
    bindPattern(machine, property.value, readMember(value, name, machine.spend), scope, bind);
  }
}
