import { replaceNode, swapNodes, textOf } from './mutation.ts';
import type { Mutation, MutationClass, MutationSite } from './mutation.ts';
import { alternativesOf, assignmentSwaps, operatorSwaps } from './swap-table.ts';
import type { SwapGroup } from './swap-table.ts';

const notCommutative = new Set(['-', '/', '%', '<', '>', '<=', '>=', '**']);

function swapOperator(
  site: MutationSite,
  parts: {
    readonly left: { readonly end: number };
    readonly right: { readonly start: number };
    readonly operator: string;
  },
  groups: readonly SwapGroup[],
): Mutation[] {
  const between = site.text.slice(parts.left.end, parts.right.start);
  const start = parts.left.end + between.indexOf(parts.operator);
  return alternativesOf(parts.operator, groups).map((other) => ({
    start,
    end: start + parts.operator.length,
    replacement: other.word,
    cost: other.cost,
    likes: other.likes,
  }));
}

/** `a < b` ↔ `a <= b`, `a + b` ↔ `a - b`, `a && b` ↔ `a || b`, `x += y` ↔ `x -= y`, … */
export const wrongOperator: MutationClass = (site) => {
  const { node } = site;
  if (node.type === 'AssignmentExpression') return swapOperator(site, node, assignmentSwaps);
  if (node.type !== 'BinaryExpression' && node.type !== 'LogicalExpression') return [];
  return swapOperator(site, node, operatorSwaps);
};

/** `a - b` → `b - a`; in a comparator this turns the order round. */
export const swappedOperands: MutationClass = (site) => {
  const { node } = site;
  if (node.type !== 'BinaryExpression' || !notCommutative.has(node.operator)) return [];
  return [swapNodes(site, node.left, node.right, 2, ['order', 'number', 'boolean'])];
};

/** A negation too many or one that is missing. */
export const wrongNegation: MutationClass = (site) => {
  const { node } = site;
  if (node.type === 'UnaryExpression' && (node.operator === '!' || node.operator === '-')) {
    return [
      replaceNode(node, textOf(site, node.argument), 1.5, ['boolean', 'number', 'not_thrown', 'length']),
    ];
  }
  const condition =
    node.type === 'IfStatement' || node.type === 'ConditionalExpression'
      ? node.test
      : node.type === 'ReturnStatement' || (node.type === 'ArrowFunctionExpression' && node.expression)
        ? node.type === 'ReturnStatement'
          ? node.argument
          : node.body
        : undefined;
  const negatable = new Set(['Identifier', 'MemberExpression', 'CallExpression']);
  if (condition == null || !negatable.has(condition.type)) return [];
  const cost = node.type === 'ReturnStatement' || node.type === 'ArrowFunctionExpression' ? 2.5 : 2;
  return [replaceNode(condition, `!${textOf(site, condition)}`, cost, ['boolean', 'not_thrown', 'length'])];
};

/** `i++` ↔ `i--`. */
export const wrongUpdate: MutationClass = (site) => {
  const { node } = site;
  if (node.type !== 'UpdateExpression') return [];
  const operator = node.operator === '++' ? '--' : '++';
  const argument = textOf(site, node.argument);
  return [
    replaceNode(node, node.prefix ? `${operator}${argument}` : `${argument}${operator}`, 2, ['number']),
  ];
};

/** `c ? a : b` → `c ? b : a`. */
export const swappedBranches: MutationClass = (site) => {
  const { node } = site;
  if (node.type !== 'ConditionalExpression') return [];
  return [swapNodes(site, node.consequent, node.alternate, 2, ['string', 'number', 'boolean', 'order'])];
};
