import { relativePath, resolveImport } from './knowledge.ts';
import type { Knowledge } from './knowledge.ts';
import { readSourceFile } from './repair/source-file.ts';
import type { SourceFile } from './repair/source-file.ts';
import type { TestFailure } from './repair/test-failure.ts';
import type { TestReport } from './repair/test-report.ts';

const isScript = (path: string): boolean => /(?<!\.d)\.[cm]?[jt]s$/.test(path);
const isTest = (path: string): boolean =>
  /(?:^|\/)tests?\/|(?:^|\/)__tests__\/|[.\-_](?:test|spec)\.[cm]?[jt]s$/.test(path);

/** Files that a failure points at, in the order in which they deserve reading. */
export interface Suspects {
  readonly tests: readonly string[];
  /** In a stack, or imported by a failing test. */
  readonly direct: readonly string[];
  /** Imported by a suspect that has been read. */
  readonly neighbours: readonly string[];
}

function parsed(paths: readonly string[], knowledge: Knowledge): SourceFile[] {
  return paths.flatMap((path) => {
    const text = knowledge.files.get(path);
    const source = text === undefined ? undefined : readSourceFile(path, text);
    return source === undefined ? [] : [source];
  });
}

function importsOf(sources: readonly SourceFile[], listing: readonly string[]): string[] {
  return sources.flatMap((source) =>
    source.imports.flatMap((specifier) => resolveImport(source.path, specifier, listing) ?? []),
  );
}

/** Finds the suspects of a failing run among the listed and the read files. */
export function findSuspects(report: TestReport, knowledge: Knowledge): Suspects {
  const listing = (knowledge.listing ?? []).filter(isScript);
  const relative = (printed: string): string[] => {
    const path = relativePath(printed, listing);
    return path === undefined ? [] : [path];
  };
  const named = report.failures.flatMap((failure) =>
    failure.file === undefined ? [] : relative(failure.file),
  );
  const inStacks = report.failures.flatMap((failure) =>
    failure.stack.flatMap((frame) => relative(frame.file)),
  );
  const tests = [...new Set([...named, ...inStacks].filter(isTest))];
  const known = tests.length > 0 ? tests : listing.filter(isTest);
  const direct = new Set(
    [...inStacks, ...importsOf(parsed(known, knowledge), listing)].filter((path) => !isTest(path)),
  );
  const neighbours = new Set<string>();
  let front = [...direct];
  while (front.length > 0) {
    front = importsOf(parsed(front, knowledge), listing).filter(
      (path) => !isTest(path) && !direct.has(path) && !neighbours.has(path),
    );
    for (const path of front) neighbours.add(path);
  }
  return { tests: known, direct: [...direct], neighbours: [...neighbours] };
}

/** The suspects that have been read and parsed: tests and sources. */
export function readSuspects(
  suspects: Suspects,
  knowledge: Knowledge,
): { readonly tests: SourceFile[]; readonly sources: SourceFile[] } {
  return {
    tests: parsed(suspects.tests, knowledge),
    sources: parsed([...suspects.direct, ...suspects.neighbours], knowledge),
  };
}

/** A failure whose test file is named as the listing spells it. */
export function relativeTo(failure: TestFailure, listing: readonly string[]): TestFailure {
  const file = failure.file === undefined ? undefined : relativePath(failure.file, listing);
  return file === undefined ? failure : { ...failure, file };
}
