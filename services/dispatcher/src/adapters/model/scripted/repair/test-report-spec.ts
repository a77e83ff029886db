import { readStack } from './test-failure.ts';
import type { Leaf, TestFailure } from './test-failure.ts';

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };

function unquote(text: string): string {
  return text.slice(1, -1).replace(/\\(.)/g, (_, char: string) => escapes[char] ?? char);
}

/** Scalars of a printed value in order; strings that were printed in parts (`'a' +\n 'b'`) are joined. */
export function readLeaves(printed: string): Leaf[] {
  const joined = printed.replace(/'\s*\+\s*\n\s*'/g, '');
  const tokens = joined.matchAll(
    /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?\b(?!\s*:)|\b(?:true|false|null|undefined|NaN)\b/g,
  );
  return [...tokens].map(([token]): Leaf => {
    if (/^['"`]/.test(token)) return unquote(token);
    if (token === 'true' || token === 'false') return token === 'true';
    if (token === 'null') return null;
    if (token === 'undefined') return undefined;
    return Number(token);
  });
}

function member(block: string, name: string, next: string): string {
  return new RegExp(`^ +${name}: ([\\s\\S]*?),\\n +${next}: `, 'm').exec(block)?.[1] ?? '';
}

/** Failures of node's spec reporter, from its closing list. */
export function parseSpecFailures(output: string): TestFailure[] {
  const list = output.split(/^✖ failing tests:$/m)[1];
  if (list === undefined) return [];
  return list
    .split(/^(?=test at )/m)
    .slice(1)
    .flatMap((block): TestFailure[] => {
      const place = /^test at (.+):\d+:\d+\n✖ (.*?)(?: \([\d.]+ms\))?(?: #.*)?$/m.exec(block);
      if (place?.[1] === undefined || place[2] === undefined) return [];
      return [
        {
          name: place[2],
          file: place[1],
          message: block.split('\n')[2]?.trim() ?? '',
          expected: readLeaves(member(block, 'expected', 'operator')),
          actual: readLeaves(member(block, 'actual', 'expected')),
          operator: /^ +operator: '(.*?)'/m.exec(block)?.[1] ?? '',
          stack: readStack(block.replace(/ \{$/gm, '')),
        },
      ];
    });
}
