import type { AnyNode } from 'acorn';
import type { EvidenceKind } from './evidence.ts';
import { isArithmetic, replaceNode, swapNodes, textOf } from './mutation.ts';
import type { Mutation, MutationClass, MutationSite } from './mutation.ts';
import { alternativesOf, anyKind, assignmentSwaps, operatorSwaps } from './swap-table.ts';
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
  const swaps = swapOperator(site, node, operatorSwaps);
  // Nobody errs in `24 * 60 * 60`; what is done with the result comes first.
  return isArithmetic(node) ? swaps.map((swap) => ({ ...swap, cost: swap.cost + 1.5 })) : swaps;
};

/** `a - b` → `b - a`; in a comparator this turns the order round. */
export const swappedOperands: MutationClass = (site) => {
  const { node } = site;
  if (node.type !== 'BinaryExpression' || !notCommutative.has(node.operator)) return [];
  return [swapNodes(site, node.left, node.right, 2, ['order', 'number', 'boolean'])];
};

const negatable = new Set(['Identifier', 'MemberExpression', 'CallExpression']);

interface Condition {
  readonly condition: AnyNode;
  readonly cost: number;
  readonly likes: readonly EvidenceKind[];
}

const truth: readonly EvidenceKind[] = ['boolean', 'not_thrown', 'length'];

/** Where a truth value stands, and what a missing negation there costs. */
function conditionsOf(node: AnyNode): Condition[] {
  if (node.type === 'IfStatement' || node.type === 'ConditionalExpression') {
    return [{ condition: node.test, cost: 2, likes: anyKind }];
  }
  if (node.type === 'LogicalExpression') {
    return [node.left, node.right].map((condition) => ({ condition, cost: 2, likes: anyKind }));
  }
  if (node.type === 'ReturnStatement' && node.argument != null) {
    return [{ condition: node.argument, cost: 2.5, likes: truth }];
  }
  return node.type === 'ArrowFunctionExpression' && node.expression
    ? [{ condition: node.body, cost: 2.5, likes: truth }]
    : [];
}

/** A negation too many or one that is missing. */
export const wrongNegation: MutationClass = (site) => {
  const { node } = site;
  if (node.type === 'UnaryExpression' && (node.operator === '!' || node.operator === '-')) {
    return [replaceNode(node, textOf(site, node.argument), 1.5, anyKind)];
  }
  return conditionsOf(node)
    .filter(({ condition }) => negatable.has(condition.type))
    .map(({ condition, cost, likes }) => replaceNode(condition, `!${textOf(site, condition)}`, cost, likes));
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
