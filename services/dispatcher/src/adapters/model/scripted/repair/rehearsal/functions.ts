import type { AnyNode } from 'acorn';
import { bindPattern, keyOf } from './bind.ts';
import type { Machine } from './machine.ts';
import { declare, innerScope } from './scope.ts';
import type { Scope } from './scope.ts';
import { GuestThrow, fail, guestObject, isKind, unknowable } from './values.ts';
import type { GuestFunction, GuestObject, Value } from './values.ts';

type Of<Type extends AnyNode['type']> = Extract<AnyNode, { type: Type }>;
type FunctionNode = Of<'FunctionDeclaration' | 'FunctionExpression' | 'ArrowFunctionExpression'>;
type ClassNode = Of<'ClassDeclaration' | 'ClassExpression'>;

function bindParameters(machine: Machine, node: FunctionNode, args: readonly Value[], scope: Scope): void {
  for (const [index, parameter] of node.params.entries()) {
    const isRest = parameter.type === 'RestElement';
    const value = isRest ? args.slice(index) : args[index];
    bindPattern(machine, isRest ? parameter.argument : parameter, value, scope, (name, part) =>
      declare(scope, name, part),
    );
  }
}

function runBody(machine: Machine, node: FunctionNode, scope: Scope): Value {
  if (node.body.type !== 'BlockStatement') return machine.evaluate(node.body, scope);
  const end = machine.runBlock(node.body.body, scope);
  return end?.kind === 'return' ? end.value : undefined;
}

/** An asynchronous function is worked out at once; what it throws waits in its promise. */
function settled(work: () => Value): Value {
  try {
    const value = work();
    return isKind(value, 'promise') ? value : { kind: 'promise', settled: { value } };
  } catch (error) {
    if (!(error instanceof GuestThrow)) throw error;
    return { kind: 'promise', settled: { thrown: error.value } };
  }
}

/** A function value; `home` is the class whose `super` it may call. */
export function makeFunction(
  machine: Machine,
  node: AnyNode,
  scope: Scope,
  name: string,
  home?: Value,
): GuestFunction {
  if (!/Function/.test(node.type)) return unknowable(node.type);
  const code = node as FunctionNode;
  if (code.generator) return unknowable('a generator');
  const invoke = (self: Value, args: readonly Value[]): Value => {
    const own = code.type === 'ArrowFunctionExpression' ? undefined : { value: self, home };
    const inner = innerScope(scope, own);
    const work = (): Value => {
      bindParameters(machine, code, args, inner);
      return runBody(machine, code, inner);
    };
    return machine.nested(() => (code.async ? settled(work) : work()));
  };
  if (code.type === 'ArrowFunctionExpression') return { kind: 'function', name, invoke, members: new Map() };
  const prototype = guestObject(name);
  const construct = (args: readonly Value[]): Value => {
    const instance = guestObject(name, prototype);
    const made = invoke(instance, args);
    return typeof made === 'object' && made !== null ? made : instance;
  };
  return {
    kind: 'function',
    name,
    invoke,
    construct,
    members: new Map([['prototype', prototype]]),
    prototype,
  };
}

function placeMember(
  machine: Machine,
  member: Of<'MethodDefinition'>,
  scope: Scope,
  home: GuestFunction,
  prototype: GuestObject,
): void {
  const name = keyOf(machine, member.key, member.computed, scope);
  const method = makeFunction(machine, member.value, scope, name, home);
  if (member.static) {
    if (member.kind !== 'method') unknowable('a static accessor');
    home.members.set(name, method);
    return;
  }
  if (member.kind === 'method') prototype.members.set(name, method);
  else prototype.accessors.set(name, { ...prototype.accessors.get(name), [member.kind]: method });
}

/** A class value: fields, methods, accessors, `extends` of guest classes and errors. */
export function makeClass(machine: Machine, node: ClassNode, outer: Scope): GuestFunction {
  const name = node.id?.name ?? '';
  const scope = innerScope(outer);
  const parent = node.superClass == null ? undefined : machine.evaluate(node.superClass, scope);
  if (parent !== undefined && !isKind(parent, 'function')) return unknowable('extends');
  const isError = parent?.prototype === undefined && parent?.name.endsWith('Error') === true;
  const prototype = guestObject(isError ? parent.name : name, parent?.prototype);
  const { body } = node.body;
  const fields = body.filter((member) => member.type === 'PropertyDefinition' && !member.static);
  const constructor = body.find(
    (member) => member.type === 'MethodDefinition' && member.kind === 'constructor',
  );
  const initialise = (instance: Value, args: readonly Value[]): Value => {
    if (constructor?.type !== 'MethodDefinition' && parent !== undefined) parent.invoke(instance, args);
    const own = innerScope(scope, { value: instance, home: type });
    for (const field of fields) {
      if (field.type !== 'PropertyDefinition' || !isKind(instance, 'object')) continue;
      const value = field.value == null ? undefined : machine.evaluate(field.value, own);
      instance.members.set(keyOf(machine, field.key, field.computed, own), value);
    }
    if (constructor?.type === 'MethodDefinition') {
      makeFunction(machine, constructor.value, scope, name, type).invoke(instance, args);
    }
    return instance;
  };
  const type: GuestFunction = {
    kind: 'function',
    name,
    // `super(…)` comes in here with the instance; a plain call does not.
    invoke: (self, args) =>
      isKind(self, 'object') ? initialise(self, args) : fail('TypeError', `Class constructor ${name}`),
    construct: (args) => initialise(guestObject(isError ? parent.name : name, prototype), args),
    members: new Map<string, Value>([
      ['#parent', parent],
      ['prototype', prototype],
    ]),
    prototype,
  };
  if (name !== '') declare(scope, name, type, true);
  for (const member of body) {
    if (member.type === 'StaticBlock') return unknowable('a static block');
    if (member.type === 'MethodDefinition') {
      if (member.kind !== 'constructor') placeMember(machine, member, scope, type, prototype);
    } else if (member.static) {
      const value =
        member.value == null ? undefined : machine.evaluate(member.value, innerScope(scope, { value: type }));
      type.members.set(keyOf(machine, member.key, member.computed, scope), value);
    }
  }
  return type;
}
