import type { EvidenceKind } from './evidence.ts';

/** Words that are often taken for each other, with what each confusion tends to show. */
export interface SwapGroup {
  /** The closest alternatives of a word are its neighbours in the list. */
  readonly words: readonly string[];
  /** Lower is tried first. */
  readonly cost: number;
  readonly likes: readonly EvidenceKind[];
}

// What steers control flow can show as anything.
export const anyKind: readonly EvidenceKind[] = [
  'boolean',
  'number',
  'string',
  'order',
  'length',
  'missing_value',
  'thrown',
  'not_thrown',
];
const borders: readonly EvidenceKind[] = [...anyKind, 'off_by_one'];

/** Binary and logical operators. */
export const operatorSwaps: readonly SwapGroup[] = [
  { words: ['<', '<='], cost: 1, likes: borders },
  { words: ['>', '>='], cost: 1, likes: borders },
  { words: ['<', '>'], cost: 2, likes: anyKind },
  { words: ['<=', '>='], cost: 2, likes: anyKind },
  { words: ['<', '>='], cost: 2.25, likes: anyKind },
  { words: ['<=', '>'], cost: 2.25, likes: anyKind },
  { words: ['===', '!=='], cost: 1.5, likes: anyKind },
  { words: ['==', '!='], cost: 1.5, likes: anyKind },
  { words: ['===', '>=', '<='], cost: 3, likes: ['boolean'] },
  { words: ['===', '>', '<'], cost: 3.5, likes: ['boolean'] },
  { words: ['+', '-'], cost: 1, likes: ['number', 'order', 'length'] },
  { words: ['*', '/'], cost: 1, likes: ['number'] },
  { words: ['/', '%'], cost: 1.5, likes: ['number', 'boolean'] },
  { words: ['*', '+'], cost: 1.75, likes: ['number'] },
  { words: ['-', '*', '/'], cost: 3, likes: ['number'] },
  { words: ['*', '**'], cost: 3.5, likes: ['number'] },
  { words: ['&&', '||'], cost: 1.5, likes: anyKind },
  { words: ['??', '||', '&&'], cost: 2, likes: ['missing_value', 'number', 'string'] },
  { words: ['&', '|', '^'], cost: 2.5, likes: ['number'] },
  { words: ['<<', '>>', '>>>'], cost: 2.5, likes: ['number'] },
];

/** Assignment operators. */
export const assignmentSwaps: readonly SwapGroup[] = [
  { words: ['+=', '-='], cost: 1, likes: ['number', 'length'] },
  { words: ['*=', '/='], cost: 1, likes: ['number'] },
  { words: ['=', '+='], cost: 2, likes: ['number', 'string', 'length'] },
  { words: ['+=', '*='], cost: 3, likes: ['number'] },
  { words: ['??=', '||=', '&&='], cost: 2, likes: ['missing_value', 'boolean'] },
];

/** Names of methods and functions of the language. */
export const nameSwaps: readonly SwapGroup[] = [
  { words: ['min', 'max'], cost: 1.5, likes: ['number', 'length', 'string'] },
  { words: ['floor', 'ceil', 'round', 'trunc'], cost: 1.5, likes: ['number', 'length'] },
  { words: ['push', 'unshift'], cost: 1, likes: ['order', 'length', 'string', 'number'] },
  { words: ['shift', 'pop'], cost: 1, likes: ['order', 'length', 'string', 'number', 'missing_value'] },
  { words: ['some', 'every'], cost: 1, likes: ['boolean', 'length', 'not_thrown'] },
  { words: ['toUpperCase', 'toLowerCase'], cost: 1, likes: ['case', 'string', 'boolean'] },
  { words: ['toLocaleUpperCase', 'toLocaleLowerCase'], cost: 1, likes: ['case', 'string'] },
  { words: ['trimStart', 'trim', 'trimEnd'], cost: 1, likes: ['whitespace', 'string', 'boolean', 'length'] },
  { words: ['padStart', 'padEnd'], cost: 1, likes: ['string'] },
  { words: ['startsWith', 'endsWith', 'includes'], cost: 1.5, likes: ['boolean', 'length'] },
  { words: ['indexOf', 'lastIndexOf'], cost: 1.5, likes: ['number', 'string'] },
  { words: ['find', 'findLast', 'filter'], cost: 2, likes: ['missing_value', 'number', 'string', 'length'] },
  { words: ['findIndex', 'findLastIndex'], cost: 1.5, likes: ['number'] },
  { words: ['slice', 'substring', 'splice'], cost: 2, likes: ['string', 'length'] },
  { words: ['map', 'flatMap', 'filter', 'forEach'], cost: 2.5, likes: ['length', 'missing_value'] },
  { words: ['replace', 'replaceAll'], cost: 1, likes: ['string'] },
  { words: ['keys', 'values', 'entries'], cost: 1.5, likes: ['string', 'number', 'length', 'order'] },
  { words: ['reduce', 'reduceRight'], cost: 1.5, likes: ['order', 'string', 'number'] },
  { words: ['add', 'delete'], cost: 2, likes: ['boolean', 'length', 'number'] },
  { words: ['has', 'get'], cost: 2, likes: ['boolean', 'missing_value'] },
  { words: ['parseInt', 'parseFloat', 'Number'], cost: 1.5, likes: ['number', 'missing_value'] },
  { words: ['isNaN', 'isFinite', 'isInteger'], cost: 2, likes: ['boolean', 'not_thrown'] },
  { words: ['RangeError', 'TypeError', 'Error'], cost: 1.5, likes: ['thrown', 'not_thrown'] },
  { words: ['getUTCDate', 'getUTCDay', 'getUTCMonth'], cost: 1.5, likes: ['number', 'string', 'boolean'] },
  {
    words: ['getDate', 'getDay', 'getMonth', 'getUTCDate'],
    cost: 1.5,
    likes: ['number', 'string', 'boolean'],
  },
  { words: ['setUTCDate', 'setUTCMonth', 'setUTCFullYear'], cost: 1.5, likes: ['number', 'string'] },
  { words: ['setDate', 'setMonth', 'setUTCDate'], cost: 1.5, likes: ['number', 'string'] },
  { words: ['getHours', 'getUTCHours', 'getMinutes'], cost: 2, likes: ['number', 'string'] },
  { words: ['sort', 'toSorted', 'reverse', 'toReversed'], cost: 2.5, likes: ['order'] },
  { words: ['all', 'allSettled', 'any', 'race'], cost: 2, likes: ['thrown', 'missing_value'] },
];

/** The other words of the groups that hold the word, nearest first, with cost and likes of the group. */
export function alternativesOf(
  word: string,
  groups: readonly SwapGroup[],
): { readonly word: string; readonly cost: number; readonly likes: readonly EvidenceKind[] }[] {
  return groups.flatMap((group) => {
    const place = group.words.indexOf(word);
    if (place < 0) return [];
    return group.words
      .map((other, index) => ({
        word: other,
        cost: group.cost + (Math.abs(index - place) - 1) * 0.25,
        likes: group.likes,
      }))
      .filter((alternative) => alternative.word !== word);
  });
}
