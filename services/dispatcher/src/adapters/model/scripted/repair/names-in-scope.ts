import type { AnyNode, Program } from 'acorn';
import { fullAncestor } from 'acorn-walk';

/** Names that a place can use, nearest kind first. */
export interface NamesInScope {
  readonly parameters: readonly string[];
  readonly locals: readonly string[];
  /** Functions of the module and what it imports. */
  readonly functions: readonly string[];
  readonly constants: readonly string[];
}

function patternNames(pattern: AnyNode): string[] {
  switch (pattern.type) {
    case 'Identifier':
      return [pattern.name];
    case 'AssignmentPattern':
      return patternNames(pattern.left);
    case 'RestElement':
      return patternNames(pattern.argument);
    case 'ArrayPattern':
      return pattern.elements.flatMap((element) => (element === null ? [] : patternNames(element)));
    case 'ObjectPattern':
      return pattern.properties.flatMap((property) =>
        patternNames(property.type === 'Property' ? property.value : property),
      );
    default:
      return [];
  }
}

function localsOf(owner: AnyNode): string[] {
  const names: string[] = [];
  fullAncestor(owner, (node) => {
    if (node.type === 'VariableDeclarator') names.push(...patternNames(node.id));
  });
  return names;
}

function moduleNames(program: Program): Pick<NamesInScope, 'functions' | 'constants'> {
  const functions: string[] = [];
  const constants: string[] = [];
  for (const outer of program.body) {
    const node = outer.type === 'ExportNamedDeclaration' ? (outer.declaration ?? outer) : outer;
    if (node.type === 'FunctionDeclaration' && node.id != null) functions.push(node.id.name);
    if (node.type === 'ImportDeclaration') functions.push(...node.specifiers.map((one) => one.local.name));
    if (node.type !== 'VariableDeclaration') continue;
    for (const { id, init } of node.declarations) {
      const isFunction = /Function/.test(init?.type ?? '') || init?.type === 'CallExpression';
      (isFunction ? functions : constants).push(...patternNames(id));
    }
  }
  return { functions, constants };
}

function remembered<Result>(work: (node: AnyNode) => Result): (node: AnyNode) => Result {
  const known = new WeakMap<AnyNode, Result>();
  return (node) => {
    const result = known.get(node) ?? work(node);
    known.set(node, result);
    return result;
  };
}
// Every node of a function asks again.
const localsIn = remembered(localsOf);
const namesOfModule = remembered((node) =>
  node.type === 'Program' ? moduleNames(node) : { functions: [], constants: [] },
);

/** The names at a place; functions around it give parameters and locals. */
export function namesInScope(ancestors: readonly AnyNode[]): NamesInScope {
  const owners = ancestors.filter((node) => /Function/.test(node.type)).toReversed();
  const parameters = owners.flatMap((owner) => ('params' in owner ? owner.params.flatMap(patternNames) : []));
  const outermost = owners.at(-1);
  const program = ancestors[0];
  return {
    parameters,
    locals: outermost === undefined ? [] : localsIn(outermost),
    ...(program === undefined ? { functions: [], constants: [] } : namesOfModule(program)),
  };
}

/** Names that a piece of code mentions as variables, with how often. */
export function countMentions(node: AnyNode): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  fullAncestor(node, (inner) => {
    if (inner.type === 'Identifier') counts.set(inner.name, (counts.get(inner.name) ?? 0) + 1);
  });
  return counts;
}
