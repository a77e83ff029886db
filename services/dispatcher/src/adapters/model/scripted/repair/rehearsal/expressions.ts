import type { AnyNode } from 'acorn';
import { bindPattern, keyOf } from './bind.ts';
import { makeClass, makeFunction } from './functions.ts';
import type { Machine } from './machine.ts';
import { listOf, readMember } from './members.ts';
import { applyBinary } from './operators.ts';
import { findCell, readName, selfOf, writeName } from './scope.ts';
import type { Scope } from './scope.ts';
import {
  GuestThrow,
  fail,
  guestObject,
  isArray,
  isKind,
  isTrue,
  longest,
  publicMembers,
  toNumber,
  toText,
  typeOf,
  unknowable,
} from './values.ts';
import type { Value } from './values.ts';

type Of<Type extends AnyNode['type']> = Extract<AnyNode, { type: Type }>;
/** A short circuit of `?.` travels up to the end of its chain as this. */
interface Broken {
  readonly kind: 'broken';
}
const broken: Broken = { kind: 'broken' };
type Chained = Value | Broken;
const isBroken = (value: Chained): value is Broken => value === broken;

function listItems(machine: Machine, elements: readonly (AnyNode | null)[], scope: Scope): Value[] {
  const items: Value[] = [];
  for (const element of elements) {
    if (element === null) return unknowable('a hole');
    if (element.type === 'SpreadElement') items.push(...listOf(machine.evaluate(element.argument, scope)));
    else items.push(machine.evaluate(element, scope));
    if (items.length > longest) return unknowable('a long list');
  }
  return items;
}

function makeObject(machine: Machine, node: Of<'ObjectExpression'>, scope: Scope): Value {
  const object = guestObject();
  for (const property of node.properties) {
    if (property.type === 'SpreadElement') {
      const from = machine.evaluate(property.argument, scope);
      if (isKind(from, 'object'))
        for (const [name, value] of publicMembers(from)) object.members.set(name, value);
      else if (from != null && from !== false) return unknowable('spread');
      continue;
    }
    const name = keyOf(machine, property.key, property.computed, scope);
    if (property.kind === 'init') {
      const isMethod = /^(?:Function|Arrow)/.test(property.value.type);
      object.members.set(
        name,
        isMethod && property.value.type !== 'ArrowFunctionExpression'
          ? makeFunction(machine, property.value, scope, name)
          : machine.evaluate(property.value, scope),
      );
      continue;
    }
    const accessor = makeFunction(machine, property.value, scope, name);
    object.accessors.set(name, { ...object.accessors.get(name), [property.kind]: accessor });
  }
  return object;
}

function calledName(node: AnyNode): string {
  if (node.type === 'Identifier') return node.name;
  return node.type === 'MemberExpression' && node.property.type === 'Identifier' ? node.property.name : 'it';
}

function readMemberNode(machine: Machine, node: Of<'MemberExpression'>, scope: Scope): [Chained, Value] {
  if (node.object.type === 'Super') return unknowable('super');
  const object = chain(machine, node.object, scope);
  if (isBroken(object) || (node.optional && object == null)) return [broken, undefined];
  const name = keyOf(machine, node.property, node.computed, scope);
  return [readMember(object, name, machine.spend), object];
}

function callSuper(machine: Machine, node: Of<'CallExpression'>, scope: Scope): Value {
  const self = selfOf(scope);
  if (self?.home === undefined || !isKind(self.home, 'function')) return unknowable('super');
  const parent = self.home.members.get('#parent');
  if (!isKind(parent, 'function')) return unknowable('super');
  return parent.invoke(self.value, listItems(machine, node.arguments, scope));
}

function call(machine: Machine, node: Of<'CallExpression'>, scope: Scope): Chained {
  if (node.callee.type === 'Super') return callSuper(machine, node, scope);
  const [target, self] =
    node.callee.type === 'MemberExpression'
      ? readMemberNode(machine, node.callee, scope)
      : [chain(machine, node.callee, scope), undefined];
  if (isBroken(target) || (node.optional && target == null)) return broken;
  if (isKind(target, 'opaque')) return unknowable(target.name);
  if (!isKind(target, 'function')) return fail('TypeError', `${calledName(node.callee)} is not a function`);
  machine.spend(2);
  return target.invoke(self, listItems(machine, node.arguments, scope));
}

function chain(machine: Machine, node: AnyNode, scope: Scope): Chained {
  machine.spend(1);
  if (node.type === 'MemberExpression') return readMemberNode(machine, node, scope)[0];
  return node.type === 'CallExpression' ? call(machine, node, scope) : machine.evaluate(node, scope);
}

const chained = (machine: Machine, node: AnyNode, scope: Scope): Value => {
  const value = chain(machine, node, scope);
  return isBroken(value) ? undefined : value;
};

const shortCircuits: Readonly<Record<string, (left: Value) => boolean>> = {
  '&&': isTrue,
  '||': (left) => !isTrue(left),
  '??': (left) => left === undefined || left === null,
};

function assign(machine: Machine, node: Of<'AssignmentExpression'>, scope: Scope): Value {
  if (node.operator === '=') {
    const value = machine.evaluate(node.right, scope);
    bindPattern(machine, node.left, value, scope, (name, part) => writeName(scope, name, part));
    return value;
  }
  const operator = node.operator.slice(0, -1);
  const before = machine.evaluate(node.left, scope);
  const goesOn = shortCircuits[operator];
  if (goesOn !== undefined && !goesOn(before)) return before;
  const right = machine.evaluate(node.right, scope);
  const value = goesOn === undefined ? applyBinary(operator, before, right) : right;
  bindPattern(machine, node.left, value, scope, (name, part) => writeName(scope, name, part));
  return value;
}

function unary(machine: Machine, node: Of<'UnaryExpression'>, scope: Scope): Value {
  const { operator, argument } = node;
  if (operator === 'delete') return deleteMember(machine, argument, scope);
  if (
    operator === 'typeof' &&
    argument.type === 'Identifier' &&
    findCell(scope, argument.name) === undefined
  ) {
    return unknowable(argument.name);
  }
  const value = machine.evaluate(argument, scope);
  if (operator === 'typeof') return typeOf(value);
  if (operator === 'void') return undefined;
  if (operator === '!') return !isTrue(value);
  if (operator === '-') return -toNumber(value);
  return operator === '+' ? toNumber(value) : ~toNumber(value);
}

function deleteMember(machine: Machine, node: AnyNode, scope: Scope): Value {
  if (node.type !== 'MemberExpression') return unknowable('delete');
  const object = machine.evaluate(node.object, scope);
  if (!isKind(object, 'object')) return unknowable('delete');
  object.members.delete(keyOf(machine, node.property, node.computed, scope));
  return true;
}

function update(machine: Machine, node: Of<'UpdateExpression'>, scope: Scope): Value {
  const before = toNumber(machine.evaluate(node.argument, scope));
  const after = node.operator === '++' ? before + 1 : before - 1;
  bindPattern(machine, node.argument, after, scope, (name, value) => writeName(scope, name, value));
  return node.prefix ? after : before;
}

function template(machine: Machine, node: Of<'TemplateLiteral'>, scope: Scope): Value {
  let text = '';
  for (const [index, quasi] of node.quasis.entries()) {
    text += quasi.value.cooked ?? '';
    const expression = node.expressions[index];
    if (expression !== undefined) text += toText(machine.evaluate(expression, scope));
    if (text.length > longest) return unknowable('a long text');
  }
  return text;
}

function literal(node: Of<'Literal'>): Value {
  if (node.regex != null) return new RegExp(node.regex.pattern, node.regex.flags);
  return typeof node.value === 'bigint' ? unknowable('bigint') : node.value;
}

function construct(machine: Machine, node: Of<'NewExpression'>, scope: Scope): Value {
  const type = machine.evaluate(node.callee, scope);
  if (isKind(type, 'opaque')) return unknowable(type.name);
  const make = isKind(type, 'function') ? type.construct : undefined;
  if (make === undefined) return fail('TypeError', `${calledName(node.callee)} is not a constructor`);
  return make(listItems(machine, node.arguments, scope));
}

function settle(value: Value): Value {
  if (!isKind(value, 'promise')) return value;
  if ('thrown' in value.settled) throw new GuestThrow(value.settled.thrown);
  return value.settled.value;
}

type Evaluators = {
  readonly [Type in AnyNode['type']]?: (machine: Machine, node: Of<Type>, scope: Scope) => Value;
};

const evaluators: Evaluators = {
  Literal: (_machine, node) => literal(node),
  Identifier: (_machine, node, scope) => (node.name === 'undefined' ? undefined : readName(scope, node.name)),
  TemplateLiteral: template,
  ThisExpression: (_machine, _node, scope) => selfOf(scope)?.value,
  ArrayExpression: (machine, node, scope) => listItems(machine, node.elements, scope),
  ObjectExpression: makeObject,
  FunctionExpression: (machine, node, scope) => makeFunction(machine, node, scope, node.id?.name ?? ''),
  ArrowFunctionExpression: (machine, node, scope) => makeFunction(machine, node, scope, ''),
  ClassExpression: (machine, node, scope) => makeClass(machine, node, scope),
  MemberExpression: chained,
  CallExpression: chained,
  ChainExpression: (machine, node, scope) => chained(machine, node.expression, scope),
  NewExpression: construct,
  BinaryExpression: (machine, node, scope) => {
    if (node.left.type === 'PrivateIdentifier') return unknowable('a private name');
    const left = machine.evaluate(node.left, scope);
    return applyBinary(node.operator, left, machine.evaluate(node.right, scope));
  },
  LogicalExpression: (machine, node, scope) => {
    const left = machine.evaluate(node.left, scope);
    return shortCircuits[node.operator]?.(left) === true ? machine.evaluate(node.right, scope) : left;
  },
  ConditionalExpression: (machine, node, scope) =>
    machine.evaluate(isTrue(machine.evaluate(node.test, scope)) ? node.consequent : node.alternate, scope),
  AssignmentExpression: assign,
  UnaryExpression: unary,
  UpdateExpression: update,
  SequenceExpression: (machine, node, scope) =>
    node.expressions.map((one) => machine.evaluate(one, scope)).at(-1),
  AwaitExpression: (machine, node, scope) => settle(machine.evaluate(node.argument, scope)),
  ParenthesizedExpression: (machine, node, scope) => machine.evaluate(node.expression, scope),
};

/** Works out an expression. */
export function evaluateNode(machine: Machine, node: AnyNode, scope: Scope): Value {
  machine.spend(1);
  const evaluate = evaluators[node.type] as
    | ((machine: Machine, node: AnyNode, scope: Scope) => Value)
    | undefined;
  if (evaluate === undefined) return unknowable(node.type);
  const value = evaluate(machine, node, scope);
  return isArray(value) && value.length > longest ? unknowable('a long list') : value;
}
