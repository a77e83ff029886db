import type { AnyNode } from 'acorn';
import { bindPattern } from './bind.ts';
import { makeClass, makeFunction } from './functions.ts';
import type { Completion, Machine } from './machine.ts';
import { listOf } from './members.ts';
import { declare, innerScope, reserve, writeName } from './scope.ts';
import type { Scope } from './scope.ts';
import { GuestThrow, isArray, isKind, isTrue, publicMembers, unknowable } from './values.ts';
import type { Value } from './values.ts';

type Of<Type extends AnyNode['type']> = Extract<AnyNode, { type: Type }>;
type Run = Completion | undefined;

function declareAll(machine: Machine, node: Of<'VariableDeclaration'>, scope: Scope): void {
  for (const { id, init } of node.declarations) {
    const value = init == null ? undefined : named(machine, id, init, scope);
    bindPattern(machine, id, value, scope, (name, part) => declare(scope, name, part, node.kind === 'const'));
  }
}

function named(machine: Machine, id: AnyNode, init: AnyNode, scope: Scope): Value {
  const isNameless =
    init.type === 'ArrowFunctionExpression' || (init.type === 'FunctionExpression' && init.id == null);
  return isNameless && id.type === 'Identifier'
    ? makeFunction(machine, init, scope, id.name)
    : machine.evaluate(init, scope);
}

/** Declares the functions and names of a block before it runs. */
export function hoist(machine: Machine, body: readonly AnyNode[], scope: Scope): void {
  for (const outer of body) {
    const node =
      (outer.type === 'ExportNamedDeclaration' || outer.type === 'ExportDefaultDeclaration') &&
      outer.declaration != null
        ? outer.declaration
        : outer;
    if (node.type === 'FunctionDeclaration') {
      const name = node.id?.name ?? 'default';
      declare(scope, name, makeFunction(machine, node, scope, name));
    }
    if (node.type === 'VariableDeclaration') {
      for (const { id } of node.declarations) {
        if (id.type === 'Identifier') reserve(scope, id.name, node.kind === 'const');
      }
    }
  }
}

/** A loop's body: says whether the loop goes on, or with what it ends. */
function turn(machine: Machine, body: AnyNode, scope: Scope, label: string | undefined): Run | 'next' {
  machine.spend(1);
  const end = machine.execute(body, scope);
  if (end === undefined) return 'next';
  const isMine = end.kind !== 'return' && (end.label === undefined || end.label === label);
  if (!isMine) return end;
  return end.kind === 'continue' ? 'next' : undefined;
}

function each(
  machine: Machine,
  node: Of<'ForOfStatement'> | Of<'ForInStatement'>,
  values: readonly Value[],
  scope: Scope,
  label: string | undefined,
): Run {
  for (const value of values) {
    const inner = innerScope(scope);
    const { left } = node;
    if (left.type === 'VariableDeclaration') {
      const target = left.declarations[0]?.id;
      if (target === undefined) return unknowable('a loop');
      bindPattern(machine, target, value, inner, (name, part) =>
        declare(inner, name, part, left.kind === 'const'),
      );
    } else bindPattern(machine, left, value, inner, (name, part) => writeName(scope, name, part));
    const end = turn(machine, node.body, inner, label);
    if (end !== 'next') return end;
  }
  return undefined;
}

function keysOf(value: Value): Value[] {
  if (isArray(value)) return value.map((_, index) => String(index));
  return isKind(value, 'object') ? publicMembers(value).map(([name]) => name) : unknowable('keys');
}

function forLoop(machine: Machine, node: Of<'ForStatement'>, outer: Scope, label: string | undefined): Run {
  let scope = innerScope(outer);
  if (node.init?.type === 'VariableDeclaration') declareAll(machine, node.init, scope);
  else if (node.init != null) machine.evaluate(node.init, scope);
  while (node.test == null || isTrue(machine.evaluate(node.test, scope))) {
    const end = turn(machine, node.body, scope, label);
    if (end !== 'next') return end;
    // Closures of a turn keep its variables.
    const next = innerScope(outer);
    for (const [name, cell] of scope.cells) next.cells.set(name, { ...cell });
    scope = next;
    if (node.update != null) machine.evaluate(node.update, scope);
  }
  return undefined;
}

function loop(machine: Machine, node: AnyNode, scope: Scope, label: string | undefined): Run | 'no loop' {
  switch (node.type) {
    case 'ForStatement':
      return forLoop(machine, node, scope, label);
    case 'ForOfStatement':
      return each(machine, node, listOf(machine.evaluate(node.right, scope)), scope, label);
    case 'ForInStatement':
      return each(machine, node, keysOf(machine.evaluate(node.right, scope)), scope, label);
    case 'WhileStatement':
    case 'DoWhileStatement': {
      let isFirst = node.type === 'DoWhileStatement';
      while (isFirst || isTrue(machine.evaluate(node.test, scope))) {
        isFirst = false;
        const end = turn(machine, node.body, scope, label);
        if (end !== 'next') return end;
      }
      return undefined;
    }
    default:
      return 'no loop';
  }
}

function choose(machine: Machine, node: Of<'SwitchStatement'>, outer: Scope): Run {
  const scope = innerScope(outer);
  const value = machine.evaluate(node.discriminant, scope);
  const hit = node.cases.findIndex((one) => one.test != null && machine.evaluate(one.test, scope) === value);
  const start = hit >= 0 ? hit : node.cases.findIndex((one) => one.test == null);
  if (start < 0) return undefined;
  const end = machine.runBlock(
    node.cases.slice(start).flatMap((one) => one.consequent),
    scope,
  );
  return end?.kind === 'break' && end.label === undefined ? undefined : end;
}

function attempt(machine: Machine, node: Of<'TryStatement'>, scope: Scope): Run {
  const guarded = (): Run => {
    try {
      return machine.execute(node.block, scope);
    } catch (error) {
      const { handler } = node;
      if (!(error instanceof GuestThrow) || handler == null) throw error;
      const inner = innerScope(scope);
      if (handler.param != null) {
        bindPattern(machine, handler.param, error.value, inner, (name, part) => declare(inner, name, part));
      }
      return machine.execute(handler.body, inner);
    }
  };
  if (node.finalizer == null) return guarded();
  let end: Run;
  try {
    end = guarded();
  } catch (error) {
    if (!(error instanceof GuestThrow)) throw error;
    const last = machine.execute(node.finalizer, scope);
    if (last !== undefined) return last;
    throw error;
  }
  return machine.execute(node.finalizer, scope) ?? end;
}

function labelled(machine: Machine, node: Of<'LabeledStatement'>, scope: Scope): Run {
  const end = loop(machine, node.body, scope, node.label.name);
  const run = end === 'no loop' ? machine.execute(node.body, scope) : end;
  return run?.kind === 'break' && run.label === node.label.name ? undefined : run;
}

type Executors = {
  readonly [Type in AnyNode['type']]?: (machine: Machine, node: Of<Type>, scope: Scope) => Run;
};

const executors: Executors = {
  ExpressionStatement: (machine, node, scope) => void machine.evaluate(node.expression, scope),
  VariableDeclaration: (machine, node, scope) => {
    declareAll(machine, node, scope);
    return undefined;
  },
  FunctionDeclaration: () => undefined,
  EmptyStatement: () => undefined,
  ClassDeclaration: (machine, node, scope) => {
    declare(scope, node.id?.name ?? 'default', makeClass(machine, node, scope));
    return undefined;
  },
  ReturnStatement: (machine, node, scope) => ({
    kind: 'return',
    value: node.argument == null ? undefined : machine.evaluate(node.argument, scope),
  }),
  IfStatement: (machine, node, scope) => {
    const branch = isTrue(machine.evaluate(node.test, scope)) ? node.consequent : node.alternate;
    return branch == null ? undefined : machine.execute(branch, scope);
  },
  BlockStatement: (machine, node, scope) => machine.runBlock(node.body, innerScope(scope)),
  ThrowStatement: (machine, node, scope) => {
    throw new GuestThrow(machine.evaluate(node.argument, scope));
  },
  BreakStatement: (_machine, node) => ({ kind: 'break', label: node.label?.name }),
  ContinueStatement: (_machine, node) => ({ kind: 'continue', label: node.label?.name }),
  SwitchStatement: choose,
  TryStatement: attempt,
  LabeledStatement: labelled,
};

/** Runs a statement. */
export function executeNode(machine: Machine, node: AnyNode, scope: Scope): Run {
  machine.spend(1);
  const end = loop(machine, node, scope, undefined);
  if (end !== 'no loop') return end;
  const execute = executors[node.type] as
    | ((machine: Machine, node: AnyNode, scope: Scope) => Run)
    | undefined;
  return execute === undefined ? unknowable(node.type) : execute(machine, node, scope);
}

/** Runs statements in order until one ends them. */
export function executeAll(machine: Machine, body: readonly AnyNode[], scope: Scope): Run {
  hoist(machine, body, scope);
  for (const node of body) {
    const end = machine.execute(node, scope);
    if (end !== undefined) return end;
  }
  return undefined;
}
