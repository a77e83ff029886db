import { joinPath } from '../paths/path-kind.ts';
import type { Call } from '../refused/call.ts';
import { operandsOf } from '../refused/call.ts';
import { hasUnknown } from '../syntax/marks.ts';
import { foundPaths } from '../wrappers/find.ts';
import { folderOf, gitCommandAt } from '../wrappers/git.ts';
import { riskyOptions } from './options.ts';

type Writes = (call: Call) => readonly string[];

const each: Writes = operandsOf;

const base = (path: string): string =>
  path
    .replace(/\/+$/, '')
    .replace(/[?#].*$/s, '')
    .split('/')
    .at(-1) ?? '';

const below = (path: string): boolean => /^\/(var\/)?tmp\//.test(path) && !path.includes('..');

/** The last operand or the value of `-t`, as the file itself and as the folder into which the others go. */
const target: Writes = (call) => {
  const option = call.words.flatMap((word, index) => {
    const attached = /^(?:--target-directory=|-t)(.+)$/s.exec(word)?.[1];
    if (attached !== undefined) return [attached];
    return /^(-t|--target-directory)$/.test(call.words[index - 1] ?? '') ? [word] : [];
  });
  const operands = operandsOf(call);
  const last = operands.at(-1);
  const targets = last === undefined ? option : [...option, last];
  const sources = operands.length > 1 || option.length > 0 ? operands : [];
  return targets.flatMap((path) =>
    // what is copied below everybody's temporary files is in no working copy
    below(path) ? [path] : [path, ...sources.map((source) => `${path}/${base(source)}`)],
  );
};

/** What is moved away is gone from where it was. */
const moves: Writes = (call) => [...target(call), ...operandsOf(call)];

/** A link without a second operand is made here. */
const links: Writes = (call) => {
  const operands = operandsOf(call);
  return operands.length === 1 ? [base(operands[0] ?? '')] : target(call);
};

const dd: Writes = (call) => call.words.flatMap((word) => /^ofs?=(.+)$/s.exec(word)?.[1] ?? []);

const awk: Writes = (call) =>
  call.words.flatMap((word) => Array.from(word.matchAll(/>>?\s*"([^"]+)"/g), (found) => found[1] ?? ''));

const sed: Writes = (call) =>
  call.words
    .slice(1)
    .flatMap((word) => Array.from(word.matchAll(/w\s+([^\s;}]+)/g), (found) => found[1] ?? ''));

/** Without a name for it, a download is called what its address ends with. */
const downloads: Writes = (call) => operandsOf(call).map(base);

const curl: Writes = (call) =>
  call.words.some((word) => /^-[a-zA-Z]*[OJ]|^--remote-name/.test(word)) ? downloads(call) : [];

/** Files that a tool makes anew from a manifest; throwing one away is how one is brought up to date. */
const madeAnew =
  /(^|\/)(package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|go\.sum|Package\.resolved|[\w.-]+\.lockb?)$/i;

/**
 * What is deleted, as far as the words name it: what an expansion or a pattern brings along is build output more often
 * than not, and the review of the diff marks what is missing. A pattern stands for its folder.
 */
const deletions: Writes = (call) =>
  operandsOf(call)
    .map((path) => path.replace(/(^|\/)[\uE001\uE002]+$/, ''))
    .filter((path) => path !== '' && !hasUnknown(path) && !madeAnew.test(path));

const found: Writes = (call) =>
  call.words.includes('-delete') ? deletions({ ...call, words: ['find', ...foundPaths(call)] }) : [];

/** The folder that an archive is unpacked into. */
const unpackedInto =
  (short: RegExp, long: RegExp): Writes =>
  (call) =>
    call.words.flatMap((word, index) => {
      const attached = short.exec(word)?.[1] ?? long.exec(word)?.[1];
      if (attached !== undefined && attached !== '') return [attached];
      const before = call.words[index - 1] ?? '';
      return index > 1 && (short.test(before) || long.test(before)) ? [word] : [];
    });

const gitWrites: Readonly<Record<string, Writes>> = {
  mv: moves,
  rm: (call) => (call.words.includes('--cached') ? [] : deletions(call)),
  checkout: each,
  restore: each,
};

const git: Writes = (call) => {
  const at = gitCommandAt(call.words);
  const command = call.words[at] ?? '';
  const writes = Object.hasOwn(gitWrites, command) ? gitWrites[command] : undefined;
  const paths = writes?.({ ...call, words: call.words.slice(at), raws: call.raws.slice(at) }) ?? [];
  if (paths.length === 0 || at === 1) return paths;
  const folder = folderOf(call.words.slice(0, at), '');
  return paths.map((path) => joinPath(path, folder));
};

const named = (names: string, writes: Writes): Readonly<Record<string, Writes>> =>
  Object.fromEntries(names.split(' ').map((name) => [name, writes]));

/**
 * Which words of a program name files that it writes, moves or deletes.
 */
const table: Readonly<Record<string, Writes>> = {
  ...named('tee gtee touch truncate sponge patch ed ex', each),
  ...named('set-content add-content out-file new-item clear-content', each),
  ...named('cp gcp install ginstall rsync scp copy copy-item xcopy link', target),
  ...named('mv gmv move move-item ren rename rename-item', moves),
  ...named('ln gln', links),
  ...named('rm grm srm unlink shred trash trash-put rimraf rmdir', deletions),
  ...named('del erase rd ri remove-item', deletions),
  ...named('find gfind', found),
  ...named('awk gawk mawk nawk', awk),
  ...named('sed gsed', sed),
  ...named('tar gtar bsdtar', unpackedInto(/^-C(.*)$/s, /^--directory(?:=(.*))?$/s)),
  ...named('unzip', unpackedInto(/^-d(.*)$/s, /^--directory(?:=(.*))?$/s)),
  ...named('gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 compress uncompress', each),
  mktemp: each,
  dd,
  curl,
  wget: downloads,
  git,
};

/** The files that a call writes by what its words say; a folder stands for what is put into it. */
export function writtenPaths(call: Call): string[] {
  const writes = Object.hasOwn(table, call.name) ? table[call.name] : undefined;
  const options = riskyOptions(call).filter(({ effect }) => effect === 'writes a file');
  // `-i` names no file: the operands are changed in their places
  const inPlace = options.some(({ option }) => /^(-i|--in-?place)$/.test(option));
  const outputs = options.flatMap(({ option, path }) =>
    path === undefined || /^(-i|--in-?place)$/.test(option) ? [] : [path],
  );
  const paths = [...(writes?.(call) ?? []), ...outputs, ...(inPlace ? operandsOf(call) : [])];
  return paths.filter((path) => path !== '' && !/^(-|\/dev\/(null|stdout|stderr|tty))$/.test(path));
}
