import type { AnyNode } from 'acorn';
import type { Evidence, EvidenceKind } from './evidence.ts';

/** One possible repair: replace a range of a file's text. */
export interface Mutation {
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  /** Lower is tried first. */
  readonly cost: number;
  readonly likes: readonly EvidenceKind[];
}

/** What a mutation class sees. `ancestors` ends with the node itself. */
export interface MutationSite {
  readonly node: AnyNode;
  readonly ancestors: readonly AnyNode[];
  readonly text: string;
  readonly evidence: Evidence;
  /** Property names that occur in the sources and in the failing tests. */
  readonly propertyNames: readonly string[];
  /** Numbers that the failing tests write down; a constant of the source that is one of them is likely right. */
  readonly testNumbers: ReadonlySet<number>;
}

/** A known class of faults: proposes repairs for a node, or none. */
export type MutationClass = (site: MutationSite) => Mutation[];

/** The node's own text. */
export function textOf(site: MutationSite, node: AnyNode): string {
  return site.text.slice(node.start, node.end);
}

/** The node around the site's node. */
export function parentOf(site: MutationSite): AnyNode | undefined {
  return site.ancestors.at(-2);
}

/** Replaces a whole node. */
export function replaceNode(
  node: AnyNode,
  replacement: string,
  cost: number,
  likes: readonly EvidenceKind[] = [],
): Mutation {
  return { start: node.start, end: node.end, replacement, cost, likes };
}

/** Swaps the texts of two nodes, first before second. */
export function swapNodes(
  site: MutationSite,
  first: AnyNode,
  second: AnyNode,
  cost: number,
  likes: readonly EvidenceKind[],
): Mutation {
  const between = site.text.slice(first.end, second.start);
  return {
    start: first.start,
    end: second.end,
    replacement: `${textOf(site, second)}${between}${textOf(site, first)}`,
    cost,
    likes,
  };
}

/** A calculation with nothing but numbers, such as `24 * 60 * 60`. */
export function isArithmetic(node: AnyNode): boolean {
  return (
    node.type === 'BinaryExpression' &&
    [node.left, node.right].every(
      (side) => (side.type === 'Literal' && typeof side.value === 'number') || isArithmetic(side),
    )
  );
}
