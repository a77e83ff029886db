import type { AnyNode } from 'acorn';
import { parentOf, replaceNode, swapNodes, textOf } from './mutation.ts';
import type { Mutation, MutationClass, MutationSite } from './mutation.ts';
import { alternativesOf, nameSwaps } from './swap-table.ts';

const bounded = new Set([
  'slice',
  'substring',
  'splice',
  'at',
  'charAt',
  'substr',
  'padStart',
  'padEnd',
  'repeat',
]);

function methodName(callee: AnyNode): string {
  if (callee.type === 'Identifier') return callee.name;
  return callee.type === 'MemberExpression' && callee.property.type === 'Identifier'
    ? callee.property.name
    : '';
}

/** `push` ↔ `unshift`, `Math.floor` ↔ `Math.ceil`, `some` ↔ `every`, … */
export const wrongMethod: MutationClass = (site) => {
  const { node } = site;
  if (node.type !== 'CallExpression' && node.type !== 'NewExpression') return [];
  const name = methodName(node.callee);
  const target = node.callee.type === 'MemberExpression' ? node.callee.property : node.callee;
  return alternativesOf(name, nameSwaps).map((other) =>
    replaceNode(target, other.word, other.cost, other.likes),
  );
};

/** `f(a, b)` → `f(b, a)`, `a.localeCompare(b)` → `b.localeCompare(a)`. */
export const swappedArguments: MutationClass = (site) => {
  const { node } = site;
  if (node.type !== 'CallExpression' && node.type !== 'NewExpression') return [];
  const { arguments: given, callee } = node;
  const neighbours = given.slice(1).flatMap((second, index) => {
    const first = given[index];
    return first === undefined
      ? []
      : [swapNodes(site, first, second, 2 + (given.length - 2), ['number', 'string', 'order', 'boolean'])];
  });
  const [only] = given;
  const turned =
    given.length === 1 &&
    only !== undefined &&
    callee.type === 'MemberExpression' &&
    !callee.computed &&
    ['localeCompare', 'includes', 'startsWith', 'endsWith', 'concat'].includes(methodName(callee))
      ? [swapNodes(site, callee.object, only, 1.75, ['order', 'boolean'])]
      : [];
  return [...neighbours, ...turned];
};

/** Bounds of `slice` and its like, and indexes: one too many or too few. */
export const wrongBound: MutationClass = (site) => {
  const { node } = site;
  const parent = parentOf(site);
  const isBound =
    parent?.type === 'CallExpression' && parent.callee !== node && bounded.has(methodName(parent.callee));
  const isIndex = parent?.type === 'MemberExpression' && parent.computed && parent.property === node;
  const isLimit = node.type === 'MemberExpression' && textOf(site, node).endsWith('.length');
  if ((!isBound && !isIndex && !isLimit) || node.type === 'Literal' || node.type === 'BinaryExpression')
    return [];
  const original = textOf(site, node);
  return [
    replaceNode(node, `${original} - 1`, 2.25, [
      'off_by_one',
      'length',
      'string',
      'number',
      'missing_value',
      'thrown',
    ]),
    replaceNode(node, `${original} + 1`, 2.25, ['off_by_one', 'length', 'string', 'number', 'missing_value']),
  ];
};

/** `x + 1` → `x`, `x - 1` → `x`: an offset that is one too many. */
export const extraOffset: MutationClass = (site) => {
  const { node } = site;
  if (node.type !== 'BinaryExpression' || !['+', '-'].includes(node.operator)) return [];
  if (node.right.type !== 'Literal' || typeof node.right.value !== 'number') return [];
  return [
    replaceNode(node, textOf(site, node.left), 2, [
      'off_by_one',
      'number',
      'length',
      'missing_value',
      'string',
    ]),
  ];
};

/** A result that is one off: `n` → `n + 1`, only where expected and actual say so. */
export const missingOffset: MutationClass = (site) => {
  const results = resultsOf(site.node).filter((result) => result.type !== 'Literal');
  const steps = new Set(
    site.evidence.pairs.flatMap(({ expected, actual }) =>
      typeof expected === 'number' && typeof actual === 'number' && Math.abs(expected - actual) === 1
        ? [expected > actual ? '+ 1' : '- 1']
        : [],
    ),
  );
  return results.flatMap((result) =>
    [...steps].map((step) => replaceNode(result, `${textOf(site, result)} ${step}`, 1.5, ['off_by_one'])),
  );
};

/** `getMonth()` counts from 0; what is printed counts from 1. */
export const monthFromZero: MutationClass = (site) => {
  const { node } = site;
  if (node.type !== 'CallExpression' || !/^get(?:UTC)?Month$/.test(methodName(node.callee))) return [];
  const isOperand = parentOf(site)?.type === 'BinaryExpression';
  const shifted = `${textOf(site, node)} + 1`;
  return [replaceNode(node, isOperand ? `(${shifted})` : shifted, 2, ['off_by_one', 'string', 'number'])];
};

/** `slice(2)` where the end was meant: `slice(-2)`. */
export const missingMinus: MutationClass = (site) => {
  const { node } = site;
  const parent = parentOf(site);
  if (
    parent?.type !== 'CallExpression' ||
    parent.callee === node ||
    !bounded.has(methodName(parent.callee))
  ) {
    return [];
  }
  if (node.type !== 'Literal' || typeof node.value !== 'number' || node.value === 0) return [];
  return [replaceNode(node, `-${textOf(site, node)}`, 2.25, ['length', 'string', 'missing_value'])];
};

/** `item.price` where `item.quantity` was meant. */
export const wrongProperty: MutationClass = (site) => {
  const { node } = site;
  if (node.type !== 'MemberExpression' || node.computed || node.property.type !== 'Identifier') return [];
  const parent = parentOf(site);
  if (parent?.type === 'CallExpression' && parent.callee === node) return [];
  const { property } = node;
  return site.propertyNames
    .filter((name) => name !== property.name)
    .slice(0, 24)
    .map((name) =>
      replaceNode(property, name, 4.25, ['number', 'string', 'missing_value', 'order', 'boolean', 'thrown']),
    );
};

/** A parameter used where another of the same function was meant. */
export const wrongVariable: MutationClass = (site) => {
  const { node } = site;
  const parent = parentOf(site);
  if (node.type !== 'Identifier' || parent === undefined) return [];
  if (/Function|Property|Declarator|AssignmentPattern/.test(parent.type)) return [];
  if (parent.type === 'MemberExpression' && parent.property === node && !parent.computed) return [];
  if (parent.type === 'CallExpression' && parent.callee === node) return [];
  const owner = site.ancestors.findLast((outer) => /Function/.test(outer.type));
  if (owner === undefined || !('params' in owner)) return [];
  const names = owner.params.flatMap((param) => (param.type === 'Identifier' ? [param.name] : []));
  if (!names.includes(node.name)) return [];
  return names
    .filter((name) => name !== node.name)
    .map((name) => replaceNode(node, name, 3, ['number', 'string', 'order', 'missing_value']));
};

const repairsOfText: readonly { readonly call: string; readonly apply: (text: string) => string }[] = [
  { call: '.trim()', apply: (text) => text.trim() },
  { call: '.toLowerCase()', apply: (text) => text.toLowerCase() },
  { call: '.toUpperCase()', apply: (text) => text.toUpperCase() },
];

function missingCalls(site: MutationSite): string[] {
  return repairsOfText
    .filter(({ apply }) =>
      site.evidence.pairs.some(
        ({ expected, actual }) =>
          typeof actual === 'string' && actual !== expected && apply(actual) === expected,
      ),
    )
    .map(({ call }) => call);
}

function resultsOf(node: AnyNode): AnyNode[] {
  if (node.type === 'ReturnStatement' && node.argument != null) return [node.argument];
  return node.type === 'ArrowFunctionExpression' && node.expression ? [node.body] : [];
}

/** A call that is missing at a result (`.trim()`), or one without arguments too many. */
export const missingCall: MutationClass = (site) => {
  const { node } = site;
  const added = resultsOf(node).flatMap((result): Mutation[] =>
    missingCalls(site).map((call) => replaceNode(result, `${textOf(site, result)}${call}`, 1.5, ['string'])),
  );
  const extra =
    node.type === 'CallExpression' && node.arguments.length === 0 && node.callee.type === 'MemberExpression'
      ? [replaceNode(node, textOf(site, node.callee.object), 3, ['order', 'string', 'length'])]
      : [];
  return [...added, ...extra];
};
