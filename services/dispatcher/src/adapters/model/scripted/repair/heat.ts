import type { SourceFile, SourceFunction } from './source-file.ts';
import type { TestFailure } from './test-failure.ts';

// Code that nothing near the failing tests mentions: still tried, last.
const cold = 4;
// A name that the test mentions, but not in the assertion that failed.
const mentionedElsewhere = 0.5;
// A whole suite that fails tells no more than its first tests.
const failuresLookedAt = 20;

interface Place {
  readonly source: SourceFile;
  readonly code: SourceFunction;
}
type Distances = ReadonlyMap<Place, number>;

/** Position of the place in the failure's stack from the innermost frame of ours; -1 when it is not there. */
function placeInStack({ source, code }: Place, failure: TestFailure): number {
  return failure.stack.findIndex(
    (frame) =>
      frame.file.endsWith(`/${source.path}`) && frame.line >= code.lines[0] && frame.line <= code.lines[1],
  );
}

function seedOf(place: Place, failure: TestFailure, tests: readonly SourceFile[]): number {
  const inStack = placeInStack(place, failure);
  if (inStack >= 0) return Math.min(inStack * 0.3, 1);
  const { name } = place.code;
  const asserted = tests.some((file) =>
    failure.stack.some(
      (frame) => frame.file.endsWith(`/${file.path}`) && file.mentionsAt(frame.line).has(name),
    ),
  );
  if (asserted) return 0;
  const named = tests.flatMap((file) => file.tests.filter((test) => test.name === failure.name));
  const bodies = named.length > 0 ? named : tests.flatMap((file) => file.tests);
  return bodies.some((test) => test.mentions.has(name)) ? mentionedElsewhere : cold;
}

/** Steps from one failing test to every place, along the names that code mentions. */
function distancesFrom(
  failure: TestFailure,
  places: readonly Place[],
  tests: readonly SourceFile[],
): Distances {
  const distances = new Map(places.map((place) => [place, seedOf(place, failure, tests)]));
  for (let round = 1; round < cold; round += 1) {
    for (const caller of places) {
      const next = (distances.get(caller) ?? cold) + 1;
      for (const callee of places) {
        if (next < (distances.get(callee) ?? cold) && caller.code.mentions.has(callee.code.name)) {
          distances.set(callee, next);
        }
      }
    }
  }
  return distances;
}

/** Up to 0.4 for code that tests which pass mention too: it works at least there. */
function exoneration(place: Place, failures: readonly TestFailure[], tests: readonly SourceFile[]): number {
  const failing = new Set(failures.map((failure) => failure.name));
  const mentioning = tests.flatMap((file) => file.tests.filter((test) => test.mentions.has(place.code.name)));
  const passing = mentioning.filter((test) => !failing.has(test.name));
  return mentioning.length === 0 ? 0 : (0.4 * passing.length) / mentioning.length;
}

/**
 * How far code is from the failing tests: the mean over the tests of 0 for what the failed assertion itself names or
 * the stack holds, one more for each call between. A fault must lie where all failing tests lead.
 */
export function heatOf(
  failures: readonly TestFailure[],
  sources: readonly SourceFile[],
  tests: readonly SourceFile[],
): (source: SourceFile, offset: number) => number {
  const places = sources.flatMap((source) => source.functions.map((code) => ({ source, code })));
  const each = failures.slice(0, failuresLookedAt).map((failure) => distancesFrom(failure, places, tests));
  const heats = new Map(
    places.map((place) => {
      const sum = each.reduce((total, distances) => total + (distances.get(place) ?? cold), 0);
      return [place, sum / (each.length || 1) + exoneration(place, failures, tests)] as const;
    }),
  );
  return (source, offset) => {
    const around = places.filter(
      (place) => place.source === source && place.code.start <= offset && offset < place.code.end,
    );
    if (around.length > 0) return Math.min(...around.map((place) => heats.get(place) ?? cold));
    const constant = source.constants.find((one) => one.start <= offset && offset < one.end);
    if (constant === undefined) return cold;
    const users = places.filter((place) => place.code.mentions.has(constant.name));
    return Math.min(cold, ...users.map((place) => (heats.get(place) ?? cold) + 0.4));
  };
}
