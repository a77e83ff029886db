import type { AnyNode } from 'acorn';
import type { Scope } from './scope.ts';
import { Unknowable } from './values.ts';
import type { Value } from './values.ts';

/** How a statement ended, when it did not simply go on. */
export type Completion =
  | { readonly kind: 'return'; readonly value: Value }
  | { readonly kind: 'break' | 'continue'; readonly label: string | undefined };

/** What expressions and statements need of each other. */
export interface Machine {
  /** Counts work. @throws Unknowable when the budget is spent */
  readonly spend: (steps: number) => void;
  /** Runs a call; calls within calls are bounded. */
  readonly nested: <Result>(work: () => Result) => Result;
  readonly evaluate: (node: AnyNode, scope: Scope) => Value;
  readonly execute: (node: AnyNode, scope: Scope) => Completion | undefined;
  /** Declares what a block declares before it runs. */
  readonly hoist: (body: readonly AnyNode[], scope: Scope) => void;
  /** Runs statements with their function and class declarations hoisted. */
  readonly runBlock: (body: readonly AnyNode[], scope: Scope) => Completion | undefined;
}

// Deep recursion of the guest is recursion of ours, a dozen frames a call.
const deepest = 120;

/** A budget of steps that a whole rehearsal shares; `nested` guards calls. */
export function createBudget(steps: number): {
  readonly spend: (steps: number) => void;
  readonly spent: () => number;
  readonly nested: <Result>(work: () => Result) => Result;
} {
  let spent = 0;
  let depth = 0;
  return {
    spend: (cost) => {
      spent += cost;
      if (spent > steps) throw new Unknowable('too many steps');
    },
    spent: () => spent,
    nested: (work) => {
      if (depth >= deepest) throw new Unknowable('too deep');
      depth += 1;
      try {
        return work();
      } finally {
        depth -= 1;
      }
    },
  };
}
