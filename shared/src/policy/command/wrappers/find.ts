import type { Call } from '../refused/call.ts';
import { mark } from '../syntax/marks.ts';
import type { Inner } from './inner.ts';

const runs: readonly string[] = ['-exec', '-execdir', '-ok', '-okdir'];

/** The commands that `find` runs. `{}` becomes something below the starting points. */
export function readFind(call: Call): Inner[] {
  const inners: Inner[] = [];
  const places = foundPaths(call);
  for (let index = 1; index < call.words.length; index += 1) {
    if (!runs.includes(call.words[index] ?? '')) continue;
    const end = endOf(call.words, index + 1);
    for (const place of places)
      inners.push({
        from: index + 1,
        run: {
          words: call.words.slice(index + 1, end).map((word) => word.replaceAll('{}', () => place)),
          raws: call.raws.slice(index + 1, end),
        },
      });
    index = end;
  }
  return inners;
}

/** What `find` finds, as patterns: everything below its starting points. */
export function foundPaths(call: Call): string[] {
  return startingPoints(call).map((place) => `${place.replace(/\/+$/, '')}/${mark.star}`);
}

function startingPoints(call: Call): string[] {
  const places: string[] = [];
  for (const word of call.words.slice(1)) {
    if (/^-([HLP]|O\d?)$/.test(word)) continue;
    if (/^[-(!]/.test(word)) break;
    places.push(word);
  }
  // more would be the same again
  return places.length > 0 ? places.slice(0, 8) : ['.'];
}

function endOf(words: readonly string[], from: number): number {
  for (let index = from; index < words.length; index += 1)
    if (words[index] === ';' || (words[index] === '+' && (words[index - 1] ?? '').includes('{}')))
      return index;
  return words.length;
}
