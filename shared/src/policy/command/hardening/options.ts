import { pathKind } from '../paths/path-kind.ts';
import { isLong } from '../refused/call.ts';
import type { Call } from '../refused/call.ts';
import { ownWords } from '../refused/own-words.ts';
import { riskyOptionsOf } from './option-table.ts';
import type { RiskyOptions } from './option-table.ts';

/** An option of the table that a call uses: where it stands, what it does, and the file it writes. */
export interface RiskyOption {
  readonly index: number;
  readonly option: string;
  readonly effect: string;
  readonly path: string | undefined;
  /** What a shell is given or a program is started by, where the option names it. */
  readonly code: string | undefined;
}

/** The risky options of a call; options behind `--` are operands. */
export function riskyOptions(given: Call): RiskyOption[] {
  const call = ownWords(given);
  const entries = riskyOptionsOf(call.name);
  if (entries === undefined) return [];
  const found: RiskyOption[] = [];
  for (const [index, word] of call.words.entries()) {
    if (index === 0) continue;
    if (word === '--') break;
    for (const entry of entries) {
      if (entry.of !== undefined && !call.words.some((one) => entry.of?.test(one))) continue;
      const hit = matchOption(entry, word, call.words[index + 1]);
      if (hit === undefined || (hit.value !== undefined && entry.harmless?.test(hit.value))) continue;
      const path = entry.effect === 'writes a file' ? hit.value : undefined;
      const code = entry.effect === 'runs code' && entry.language !== true ? hit.value : undefined;
      found.push({ index, option: hit.option, effect: entry.effect, path, code });
    }
  }
  return found;
}

function matchOption(
  entry: RiskyOptions,
  word: string,
  next: string | undefined,
): { option: string; value: string | undefined } | undefined {
  if (entry.options.includes(word)) return { option: word, value: next };
  if (word.startsWith('--')) {
    const option = entry.options.find(
      (long) =>
        long.startsWith('--') && (entry.exact === true ? word.split('=', 1)[0] === long : isLong(word, long)),
    );
    if (option === undefined) return undefined;
    return { option, value: word.includes('=') ? word.slice(word.indexOf('=') + 1) : next };
  }
  if (!word.startsWith('-')) return undefined;
  const single = /^(-\w[\w-]+)=(.*)$/s.exec(word);
  if (single !== null && entry.options.includes(single[1] ?? ''))
    return { option: single[1] ?? '', value: single[2] };
  for (let at = 1; at < word.length; at += 1) {
    const letter = word[at] ?? '';
    if (entry.options.includes(`-${letter}`))
      return { option: `-${letter}`, value: at + 1 < word.length ? word.slice(at + 1) : next };
    if (entry.valued?.includes(letter) === true || !/[A-Za-z0-9]/.test(letter)) return undefined;
  }
  return undefined;
}

/** An option that writes to a device is refused like a redirection to it. */
export function optionWritesDevice(call: Call): string | undefined {
  const found = riskyOptions(call).find(
    ({ path }) => path !== undefined && pathKind(path, call.cwd) === 'device',
  );
  return found === undefined ? undefined : `writes directly under /dev/ (${found.path ?? ''})`;
}
