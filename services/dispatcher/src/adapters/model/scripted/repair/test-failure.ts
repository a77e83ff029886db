/** A line of a stack: function name ('' for module code), file as printed, position from 1. */
export interface StackFrame {
  readonly functionName: string;
  readonly file: string;
  readonly line: number;
}

/** One failing test as the runner's report tells it. */
export interface TestFailure {
  readonly name: string;
  /** The test's file as printed; absent when the report does not say. */
  readonly file?: string;
  readonly message: string;
  /** Leaves of the compared values in order; empty when the report shows none. */
  readonly expected: readonly Leaf[];
  readonly actual: readonly Leaf[];
  readonly operator: string;
  readonly stack: readonly StackFrame[];
}

/** A scalar inside a compared value. */
export type Leaf = string | number | boolean | null | undefined;

/** Stack lines of both reporters: `at name (file:///x.js:1:2)`, `at file:///x.js:1:2`, `name (file:///x.js:1:2)`. */
export function readStack(text: string): StackFrame[] {
  return text.split('\n').flatMap((line): StackFrame[] => {
    const found =
      /^\s*(?:at )?(?:async )?(?:([^\s(]+(?: \[as [^\]]+\])?) \()?(?:file:\/\/)?((?:\/|[A-Za-z]:)[^\s():]+):(\d+):\d+\)?$/.exec(
        line,
      );
    if (found?.[2] === undefined) return [];
    const name = (found[1] ?? '').replace(/^new /, '').split('.').at(-1) ?? '';
    return [{ functionName: name.replace(/[<>]/g, ''), file: decodeURI(found[2]), line: Number(found[3]) }];
  });
}
