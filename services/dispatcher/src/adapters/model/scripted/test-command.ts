/** Options of node that take the word after them as their value. */
const withValue = new Set([
  '--import',
  '--require',
  '-r',
  '--loader',
  '--experimental-loader',
  '--env-file',
  '--conditions',
  '-C',
  '--test-reporter',
  '--test-reporter-destination',
]);
const plainWord = /^[\w./=:@,-]+$/;
const plainPath = /^[\w][\w./@-]*$/;
const mostFiles = 6;

/** Whether a package's test script is a run of node's own test runner. */
export function usesNodeRunner(script: string): boolean {
  return /\bnode\b.*--test\b/.test(script);
}

/** The name of a well-known runner whose output cannot be read here; empty for any other. */
export function otherRunner(script: string): string {
  return /\b(?:vitest|jest|mocha|ava|tap|jasmine|karma|playwright)\b/.exec(script)?.[0] ?? '';
}

/**
 * The command that runs only some test files as the package's own script would; empty where the script is more than
 * one plain call of node, or a path needs quoting: a name of a hostile repository never reaches a shell.
 */
export function focusCommand(script: string, files: readonly string[]): string {
  const words = script.trim().split(/\s+/);
  if (words[0] !== 'node' || !words.includes('--test')) return '';
  if (files.length === 0 || files.length > mostFiles || !files.every((file) => plainPath.test(file)))
    return '';
  const isValue = (index: number): boolean => withValue.has(words[index - 1] ?? '');
  const options = words.filter((word, index) => index > 0 && (word.startsWith('-') || isValue(index)));
  // Files and globs of the script are left out and need not be plain; what runs a second command must be seen.
  if (!options.every((word) => plainWord.test(word)) || /[;&|<>`$()\\\n]/.test(script)) return '';
  // Who allows `npm test` allows this too; where the script names files, npm would run those as well.
  if (options.length === words.length - 1) return `npm test -- ${files.join(' ')}`;
  // `--test` first: policies name a command by its first words.
  const others = options.filter((word) => word !== '--test');
  return ['node', '--test', ...others, ...files].join(' ');
}
