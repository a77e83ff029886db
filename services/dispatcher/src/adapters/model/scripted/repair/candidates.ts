import type { AnyNode } from 'acorn';
import { fullAncestor } from 'acorn-walk';
import { evidenceWeights, readEvidence } from './evidence.ts';
import type { Evidence } from './evidence.ts';
import { heatOf } from './heat.ts';
import { mutationClasses } from './mutations.ts';
import type { Mutation, MutationSite } from './mutation.ts';
import type { SourceFile } from './source-file.ts';
import type { TestFailure } from './test-failure.ts';
import { uniqueLines } from './text-edit.ts';

/** A repair to try: an edit as the tool `edit_file` wants it. */
export interface Candidate {
  readonly path: string;
  readonly oldText: string;
  readonly newText: string;
  /** The whole file with the repair. */
  readonly after: string;
  /** Class of the fault and the text that changes, for people. */
  readonly what: string;
  /** Class and place; candidates of one site differ only in what they write there. */
  readonly site: string;
  readonly score: number;
}

// A step away from the failing test weighs more than any difference between classes within one function.
const heatWeight = 2;
// Guesses that only a rehearsal makes worth a try come after all that is usual.
const guessFrom = 3.25;
const guessPenalty = 5;
// Of guesses, those at constants are the fewest and the likeliest.
const constantPenalty = 2;

function toCandidate(source: SourceFile, mutation: Mutation, what: string, score: number): Candidate {
  const [from, to] = uniqueLines(source.text, mutation.start, mutation.end);
  const before = source.text.slice(mutation.start, mutation.end);
  return {
    path: source.path,
    oldText: source.text.slice(from, to),
    newText:
      source.text.slice(from, mutation.start) + mutation.replacement + source.text.slice(mutation.end, to),
    after: source.text.slice(0, mutation.start) + mutation.replacement + source.text.slice(mutation.end),
    what: `${what}: ${before.trim()} → ${mutation.replacement.trim()}`,
    site: `${source.path}:${what}:${mutation.start}`,
    score,
  };
}

function propertyNames(sources: readonly SourceFile[], tests: readonly SourceFile[]): string[] {
  const counts = new Map<string, number>();
  for (const { program } of [...sources, ...tests]) {
    fullAncestor(program, (node, _state, ancestors) => {
      const parent = ancestors.at(-2);
      const isCalled = parent?.type === 'CallExpression' && parent.callee === node;
      const key =
        node.type === 'MemberExpression' && !node.computed && !isCalled
          ? node.property
          : node.type === 'Property' && !node.computed
            ? node.key
            : undefined;
      if (key?.type === 'Identifier') counts.set(key.name, (counts.get(key.name) ?? 0) + 1);
    });
  }
  return [...counts].sort((left, right) => right[1] - left[1]).map(([name]) => name);
}

function gainOf(mutation: Mutation, evidence: Evidence): number {
  const seen = mutation.likes.filter((kind) => evidence.kinds.has(kind));
  return Math.max(0, ...seen.map((kind) => evidenceWeights[kind]));
}

// A guard that throws cannot have made a wrong value.
const guardCost = 2;

function guards(ancestors: readonly AnyNode[]): boolean {
  return ancestors.some((node, index) => {
    if (node.type !== 'IfStatement' || node.test !== ancestors[index + 1]) return false;
    const { consequent } = node;
    const only = consequent.type === 'BlockStatement' ? consequent.body.at(-1) : consequent;
    return only?.type === 'ThrowStatement';
  });
}

function mutationsOf(
  source: SourceFile,
  shared: Pick<MutationSite, 'evidence' | 'propertyNames' | 'testNumbers'>,
): { readonly mutation: Mutation; readonly what: string }[] {
  const found: { mutation: Mutation; what: string }[] = [];
  const { kinds } = shared.evidence;
  const aboutThrowing = kinds.has('thrown') || kinds.has('not_thrown');
  fullAncestor(source.program, (node, _state, ancestors) => {
    const site = { node, ancestors, text: source.text, ...shared };
    const extra = !aboutThrowing && guards(ancestors) ? guardCost : 0;
    for (const [what, propose] of Object.entries(mutationClasses)) {
      for (const mutation of propose(site))
        found.push({ mutation: { ...mutation, cost: mutation.cost + extra }, what });
    }
  });
  return found;
}

/**
 * All repairs worth trying, best first: near the failing test in the call graph, of a class that fits what the
 * failures show. Deterministic, so that a later exchange finds the same list.
 */
export function findCandidates(
  failures: readonly TestFailure[],
  sources: readonly SourceFile[],
  tests: readonly SourceFile[],
): Candidate[] {
  const evidence = readEvidence(failures);
  const heat = heatOf(failures, sources, tests);
  const failing = new Set(failures.map((failure) => failure.name));
  const failingTests = tests.flatMap((file) => file.tests.filter((test) => failing.has(test.name)));
  const shared = {
    evidence,
    propertyNames: propertyNames(sources, tests),
    testNumbers: new Set(failingTests.flatMap((test) => [...test.numbers])),
  };
  const scored = sources.flatMap((source) =>
    mutationsOf(source, shared).map(({ mutation, what }) => {
      const guess = /^wrong (?:number|text)$/.test(what) ? constantPenalty : guessPenalty;
      const penalty = mutation.cost >= guessFrom ? guess : 0;
      const fit = mutation.cost + penalty - gainOf(mutation, evidence);
      const score = heat(source, mutation.start) * heatWeight + fit;
      return toCandidate(source, mutation, what, score);
    }),
  );
  const best = new Map<string, Candidate>();
  for (const candidate of scored.sort((left, right) => left.score - right.score)) {
    const key = candidateKey(candidate);
    if (candidate.oldText !== candidate.newText && !best.has(key)) best.set(key, candidate);
  }
  return [...best.values()];
}

/** Names a candidate by what it makes of its file; what has been tried is known by this. */
export function candidateKey(edit: Pick<Candidate, 'path' | 'after'>): string {
  return `${edit.path}\n${edit.after}`;
}
