import { evaluateNode } from './expressions.ts';
import { createGlobals } from './globals.ts';
import { createHarness } from './harness.ts';
import type { Outcome } from './harness.ts';
import { createBudget } from './machine.ts';
import type { Machine } from './machine.ts';
import { createModules } from './modules.ts';
import type { ModuleText } from './modules.ts';
import { executeAll, executeNode, hoist } from './statements.ts';
import { GuestThrow, Unknowable } from './values.ts';

/** What a rehearsal of a test file came to. */
export interface Rehearsal {
  /** By test name; empty when the file could not be loaded. */
  readonly outcomes: ReadonlyMap<string, Outcome>;
  readonly steps: number;
  /** Why nothing is known, when the file itself could not be loaded. */
  readonly why?: string;
}

/** Works out a test file within a bound of steps. Never throws for what the guest does. */
export function rehearseTests(
  test: ModuleText,
  find: (importer: string, specifier: string) => ModuleText | undefined,
  mostSteps: number,
): Rehearsal {
  const { spend, spent, nested } = createBudget(mostSteps);
  const machine: Machine = {
    spend,
    nested,
    evaluate: (node, scope) => evaluateNode(machine, node, scope),
    execute: (node, scope) => executeNode(machine, node, scope),
    runBlock: (body, scope) => executeAll(machine, body, scope),
    hoist: (body, scope) => hoist(machine, body, scope),
  };
  const harness = createHarness();
  try {
    createModules({ machine, globals: createGlobals(), harness, find }).load(test);
    return { outcomes: harness.runTests(), steps: spent() };
  } catch (error) {
    if (error instanceof GuestThrow)
      return { outcomes: new Map(), steps: spent(), why: 'throws when loaded' };
    if (error instanceof Unknowable || error instanceof RangeError) {
      return { outcomes: new Map(), steps: spent(), why: error.message };
    }
    throw error;
  }
}
