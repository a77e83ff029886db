import { hasUnknown, mark } from '../syntax/marks.ts';
import type { Call } from '../refused/call.ts';
import { readWrapper } from './grammar.ts';
import type { WrapperGrammar } from './grammar.ts';
import type { Inner } from './inner.ts';

const list = (text: string): string[] => text.split(' ');

const xargs: WrapperGrammar = {
  valued: list(
    '-a --arg-file -d --delimiter -E -I -L --max-lines -n --max-args -P --max-procs -s --max-chars --process-slot-var -R -S -J',
  ),
  flags: list(
    '-0 -p -r -t -x -o --null --interactive --no-run-if-empty --verbose --exit --open-tty --show-limits',
  ),
};

/**
 * `xargs` adds words that it reads; they may be anything.
 * @param text what it reads, where that is known
 */
export function readXargs(call: Call, text: string | undefined): Inner[] {
  const { starts } = readWrapper(xargs, call.words, 1);
  const options = call.words.slice(0, starts[0]);
  const blank = (text ?? '').split(/[\s\0]+/);
  // what ends an item is an option's to say, so that blanks may belong to it
  const sets = endsItems(options)
    ? [blank, (text ?? '').split('\0'), [(text ?? '').trim()]]
    : holdsQuotes(text ?? '')
      ? [blank, (text ?? '').replaceAll(quotes, '').split(/\s+/)]
      : [blank];
  // without input, or with an item that is empty, the words stand alone
  const alone: readonly string[][] = [...sets, []];
  const holder = placeholder(options);
  const rest = readsAll(options, text) ? [] : [mark.unknown];
  return starts.flatMap((from, reading) => {
    const own = call.words.slice(from);
    const doubtful = reading > 0 ? { refusalsOnly: true as const } : {};
    if (holder === undefined || holder === '') {
      return alone.map((items, set) => {
        const added = items.filter((word) => word !== '');
        const words = [...own, ...added, ...(set < sets.length ? rest : [])];
        const raws = [...call.raws.slice(from), ...words.slice(own.length).map(() => '')];
        return { from, run: { words, raws }, ...(set > 0 ? { refusalsOnly: true as const } : doubtful) };
      });
    }
    return itemsOf(text, options, rest).map((value) => ({
      from,
      run: { words: own.map((word) => word.replaceAll(holder, () => value)), raws: call.raws.slice(from) },
      ...doubtful,
    }));
  });
}

/** Without an option that ends items, xargs reads quotes and backslashes of its own. */
const quotes = /['"\\]/g;
const holdsQuotes = (text: string): boolean => text.search(quotes) >= 0;

/** Whether the known text is all that it reads. */
function readsAll(words: readonly string[], text: string | undefined): boolean {
  return (
    text !== undefined && !holdsQuotes(text) && !words.some((word) => /^-[a-zA-Z0-9]*a|^--arg/.test(word))
  );
}

/** An option says what ends an item, so that blanks do not. */
function endsItems(words: readonly string[]): boolean {
  return words.some((word) => /^-[a-zA-Z0-9]*[d0]|^--(null|delimiter)/.test(word));
}

/** With a placeholder an item is a line, unless an option says what ends it. */
function itemsOf(text: string | undefined, words: readonly string[], rest: readonly string[]): string[] {
  const end = endsItems(words) ? /[\s\0]+/ : /\n/;
  const bare = endsItems(words) ? '' : (text ?? '').replaceAll(quotes, '');
  const items = [text ?? '', bare].flatMap((one) => one.split(end)).map((item) => item.trim());
  const known = [...new Set(items)].filter((item) => item !== '');
  return known.length < maxValues ? [...known, ...rest] : [...known, mark.unknown].slice(-maxValues);
}

/** So many of the known values take the placeholder's place; more would be the same again. */
const maxValues = 9;

function placeholder(words: readonly string[]): string | undefined {
  for (const [index, word] of words.entries()) {
    if (word === '-I' || word === '-J') return words[index + 1];
    if (/^-[IJ]./.test(word)) return word.slice(2);
    if (word === '-i' || word === '--replace') return '{}';
    if (word.startsWith('--replace=')) return word.slice('--replace='.length);
  }
  return undefined;
}

const parallel: WrapperGrammar = {
  valued: list(
    '-j --jobs -S --sshlogin -a --arg-file -d --delimiter -n --max-args -N --colsep -C --delay --timeout --joblog --results --tmpdir --retries --halt -L --workdir --wd --env -I --max-procs -P',
  ),
};

/** GNU parallel joins its words into shell code; without a command its input lines are the commands. */
export function readParallel(call: Call, text: string | undefined): Inner[] {
  const separator = call.words.findIndex((word) => word.startsWith(':::'));
  const end = separator < 0 ? call.words.length : separator;
  const words = call.words.slice(0, end);
  const values = call.words.slice(end + 1);
  const { starts } = readWrapper(parallel, words, 1);
  const from = starts[0] ?? end;
  const own = words.slice(from);
  if (own.length === 0)
    return [
      ...values.map((code): Inner => ({ from, run: { code } })),
      ...(text === undefined ? [] : [{ from, run: { code: text }, refusalsOnly: true as const }]),
    ];
  const code = own.join(' ').replace(/\{[^{}]*\}/g, mark.unknown);
  return [{ from, run: { code: hasUnknown(code) ? code : [code, ...values.slice(0, 1)].join(' ') } }];
}
