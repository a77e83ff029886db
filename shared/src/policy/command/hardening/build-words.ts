import { isKnown } from '../syntax/marks.ts';

/** Options of build tools that change how much is shown or done at once, not what. */
const looks: Readonly<Record<string, RegExp>> = {
  make: /^(-j\d*|-k|-s|--silent|--quiet|--keep-going|--no-print-directory|--jobs(=\d+)?)$/,
  mvn: /^(-q|-B|-ntp|--quiet|--batch-mode|--no-transfer-progress)$/,
};

/**
 * Such options stand before the target that a free command names; so does a folder of the project for make.
 * @returns the words without them; the same array if there are none
 */
export function plainBuildWords(words: readonly string[]): readonly string[] {
  const [name = ''] = words;
  const harmless = Object.hasOwn(looks, name) ? looks[name] : undefined;
  if (harmless === undefined) return words;
  let at = 1;
  for (; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (harmless.test(word)) continue;
    if (name !== 'make' || word !== '-C' || !isInside(words[at + 1] ?? '')) break;
    at += 1;
  }
  return at === 1 ? words : [name, ...words.slice(at)];
}

function isInside(path: string): boolean {
  return isKnown(path) && /^[\w.]/.test(path) && !path.split('/').includes('..');
}
