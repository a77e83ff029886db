import type { SourceFile, SourceFunction } from './source-file.ts';
import type { TestFailure } from './test-failure.ts';

// Code that nothing near the failing tests mentions: still tried, last.
const cold = 4;

interface Place {
  readonly source: SourceFile;
  readonly code: SourceFunction;
}

function inStack({ source, code }: Place, failures: readonly TestFailure[]): boolean {
  return failures.some((failure) =>
    failure.stack.some(
      (frame) =>
        frame.file.endsWith(`/${source.path}`) && frame.line >= code.lines[0] && frame.line <= code.lines[1],
    ),
  );
}

/** Names that each failing test mentions; all names of the file where the test cannot be found in it. */
function mentionedByTests(
  failures: readonly TestFailure[],
  tests: readonly SourceFile[],
): ReadonlySet<string>[] {
  return failures.flatMap((failure) => {
    const named = tests.flatMap((file) => file.tests.filter((test) => test.name === failure.name));
    return named.length > 0
      ? named.map((test) => test.mentions)
      : tests.flatMap((file) => file.tests.map((test) => test.mentions));
  });
}

/**
 * How far code is from the failing tests: 0 in a stack or named by the test itself, one more for each call between.
 * A name that only some of the failing tests mention is a little cooler than one that all do.
 */
export function heatOf(
  failures: readonly TestFailure[],
  sources: readonly SourceFile[],
  tests: readonly SourceFile[],
): (source: SourceFile, offset: number) => number {
  const mentioned = mentionedByTests(failures, tests);
  const places = sources.flatMap((source) => source.functions.map((code) => ({ source, code })));
  const heats = new Map<Place, number>();
  for (const place of places) {
    const share = mentioned.filter((names) => names.has(place.code.name)).length / (mentioned.length || 1);
    if (inStack(place, failures)) heats.set(place, 0);
    else if (share > 0) heats.set(place, (1 - share) * 0.8);
  }
  let front = [...heats.keys()];
  for (let step = 1; front.length > 0 && step < cold; step += 1) {
    const next = places.filter(
      (place) => !heats.has(place) && front.some((caller) => caller.code.mentions.has(place.code.name)),
    );
    for (const place of next) heats.set(place, step);
    front = next;
  }
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
