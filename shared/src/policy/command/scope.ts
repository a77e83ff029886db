import type { FreeCommands } from './free-commands.ts';
import { neverLate } from './judgement.ts';
import type { IsLate, Piece } from './judgement.ts';

/** Where the standard input of a command comes from, as far as an interpreter would read code from it. */
export type StandardInput =
  | { readonly from: 'nothing' }
  /** Directly behind a pipe; `text` when what comes through is known. */
  | { readonly from: 'pipe'; readonly text: string | undefined }
  /** Somewhere inside a compound command, a function or a process substitution that is fed. */
  | { readonly from: 'surroundings' };

/** What the whole judgement shares. */
export interface Shared {
  readonly rules: FreeCommands;
  readonly pieces: Piece[];
  /** Those of the pieces that ask because of a rule that no free command lifts. */
  readonly guarded: Set<Piece>;
  /** What each variable may hold, from every assignment of the script, wherever it stands. */
  readonly variables: Map<string, readonly string[]>;
  /** Work done so far; bounded so that a hostile script ends in time. */
  steps: number;
  readonly isLate: IsLate;
  /** The step at which the clock is looked at again. */
  lookAt: number;
  /** Quoted texts that bash would run if they were evaluated as arithmetic, such as `a[$(id)]`. */
  readonly latent: Set<string>;
  /** Whether the script evaluates arithmetic anywhere. */
  arithmetic: boolean;
  /** Names whose text is evaluated as arithmetic somewhere. */
  readonly evaluated: Set<string>;
  /** Variables that hold what a program printed or a file held. */
  readonly printed: Set<string>;
}

/** What is known at one place of a script. Subshells and the like work on a copy. */
export interface Scope {
  readonly shared: Shared;
  /** Text that the positions of the syntax tree point into. */
  readonly source: string;
  /** How many scripts inside literal texts this one is away from the command. */
  readonly depth: number;
  /** Working directory after the `cd`s so far; relative to the working copy unless absolute. */
  cwd: string;
  /** Variables that were certainly assigned before this place. */
  certain: Set<string>;
  /** Functions that are certainly defined before this place, and judged where they are. */
  functions: Set<string>;
  /** Whether this place may be passed by: a branch, a loop, the right side of `&&`. */
  conditional: boolean;
  /** A free command covers what is judged here, so that only refusals count. */
  covered: boolean;
  input: StandardInput;
  /** What the command prints whose words are read, where that is known; `>(…)` among them reads it. */
  prints: string | undefined;
  /** `$0`, `$1`, … where the text is the argument of a shell. */
  readonly positional: readonly string[] | undefined;
}

/** The scope in which the reading of a whole text begins. */
export function createScope(source: string, rules: FreeCommands, isLate: IsLate = neverLate): Scope {
  return {
    shared: {
      rules,
      pieces: [],
      guarded: new Set(),
      variables: new Map(),
      steps: 0,
      isLate,
      lookAt: 0,
      latent: new Set(),
      arithmetic: false,
      evaluated: new Set(),
      printed: new Set(),
    },
    source,
    depth: 0,
    cwd: '',
    certain: new Set(),
    functions: new Set(),
    conditional: false,
    covered: false,
    input: { from: 'nothing' },
    prints: undefined,
    positional: undefined,
  };
}

/** The script asks for more work than any command of a person does. */
export class TooMuchWork extends Error {}

const maxSteps = 400_000;

/** Steps between two looks at the clock; a look costs about as much as a step. */
const stepsPerLook = 256;

/** Counts work. @throws TooMuchWork */
export function spend(shared: Shared, steps = 1): void {
  shared.steps += steps;
  if (shared.steps > maxSteps) throw new TooMuchWork('the command is too large to be judged');
  if (shared.steps < shared.lookAt) return;
  shared.lookAt = shared.steps + stepsPerLook;
  if (shared.isLate()) throw new TooMuchWork('the judgement took longer than it may');
}

/** A copy for a part whose `cd`, assignments and functions do not reach what follows. */
export function branchOff(scope: Scope, changes: Partial<Scope> = {}): Scope {
  return {
    ...scope,
    certain: new Set(scope.certain),
    functions: new Set(scope.functions),
    ...changes,
  };
}
