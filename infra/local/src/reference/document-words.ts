import { globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** What documents may name, by where it is really said. */
export interface KnownWords {
  /** Whether a line after `lemniscate` is one that the terminal client takes; the first word that it does not know, or null. */
  readonly unknownInCommand: (words: readonly string[]) => string | null;
  /** Scripts of package.json, each with the options that its program reads; null: it takes what it is given. */
  readonly scripts: ReadonlyMap<string, ReadonlySet<string> | null>;
  readonly variables: ReadonlySet<string>;
  readonly metrics: ReadonlySet<string>;
  /** `GET /v1/sessions/{}`. */
  readonly routes: ReadonlySet<string>;
}

const notOurs = /(^|\/)(node_modules|dist|\.[a-z][^/]*)(\/|$)/;

/** Every document that speaks of the project as it is: decisions and the changelog speak of their day. */
export function readDocuments(root: string): ReadonlyMap<string, string> {
  const names = globSync('**/*.md', {
    cwd: root,
    exclude: (name) => notOurs.test(name) || notOurs.test(relative(root, name)),
  }).filter((name) => name !== 'CHANGELOG.md' && !name.startsWith('docs/decisions/'));
  return new Map(names.map((name) => [name, readFileSync(join(root, name), 'utf8')]));
}

/** Lines of fenced blocks and what stands in backquotes. A line that goes on is one. */
export function codeOf(text: string): readonly string[] {
  const blocks = [...text.matchAll(/^```[^\n]*\n([^]*?)^```/gm)].flatMap(([, block = '']) =>
    block.replaceAll('\\\n', ' ').split('\n'),
  );
  const prose = text.replaceAll(/^```[^]*?^```/gm, '');
  return [...blocks, ...[...prose.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span.replaceAll('\n', ' '))];
}

/** What a reader chooses, or what is left out: `NAME`, `…`, `"$session"`, `<id>`, `[...]`. */
const isPlaceholder = (word: string): boolean => /^["'$<[{(…\\.]|^[A-Z_:.…-]+$|…/.test(word);

function commandFaults(line: string, known: KnownWords): string[] {
  return [
    ...line.matchAll(/(?:^\s*|[(|;&]\s*|npx |sudo |\w+=\S+ )lemniscate +(?!=)([^`|;&)>#\n]+)/g),
  ].flatMap(([, rest = '']) => {
    const words = rest.trim().match(/"[^"]*"|'[^']*'|\S+/g) ?? [];
    if (words[0] === undefined || isPlaceholder(words[0])) return [];
    const unknown = known.unknownInCommand(words.filter((word) => !isPlaceholder(word)));
    return unknown === null ? [] : [`lemniscate ${rest.trim()}: ${unknown}`];
  });
}

function scriptFaults(line: string, known: KnownWords): string[] {
  return [...line.matchAll(/\bnpm run (?:--silent )?([a-z:]+)([^`|;&)\n]*)/g)].flatMap(
    ([, name = '', rest = '']) => {
      const options = known.scripts.get(name);
      if (options === undefined) return [`npm run ${name}`];
      if (options === null) return [];
      return [...rest.matchAll(/(?<= )--([a-z][a-z-]*)/g)]
        .map(([, option = '']) => option)
        .filter((option) => !options.has(option))
        .map((option) => `npm run ${name} -- --${option}`);
    },
  );
}

const routeFaults = (line: string, known: KnownWords): string[] =>
  [...line.matchAll(/\b(GET|POST|PUT|PATCH|DELETE) (\/v1\/[^\s`?,;)─'"#]+)/g)]
    .map(([, method = '', path = '']) => `${method} ${path.replace(/\/$/, '')}`)
    .filter((route) => !/[…*]/.test(route))
    .filter((route) => !known.routes.has(route.replaceAll(/:\w+|\{\w+\}|(?<=\/)[A-Z_]+(?=\/|$)/g, '{}')));

/** A name with `_` or `*` at its end stands for all that begin so. */
const namesOneOf = (word: string, known: ReadonlySet<string>): boolean =>
  known.has(word) ||
  (/_\*?$/.test(word) && [...known].some((name) => name.startsWith(word.replace('*', ''))));

function nameFaults(line: string, known: KnownWords): string[] {
  const variables = line.match(/\bLEMNISCATE_[A-Z0-9_]+\*?/g) ?? [];
  const metrics = line.match(/\blemniscate_[a-z0-9_]+\*?/g) ?? [];
  return [
    ...variables.filter((name) => !namesOneOf(name, known.variables)),
    ...metrics
      .filter((name) => !namesOneOf(name, known.metrics))
      .filter((name) => !known.metrics.has(name.replace(/_(bucket|count|sum)$/, ''))),
  ];
}

/** What a document names that is not there: commands, scripts, options, routes, variables, metrics. */
export function foreignWords(text: string, known: KnownWords): string[] {
  return codeOf(text).flatMap((line) => [
    ...commandFaults(line, known),
    ...scriptFaults(line, known),
    ...routeFaults(line, known),
    ...nameFaults(line, known),
  ]);
}

/**
 * Files of code and folders of a service's rooms that stand in backquotes and are nowhere. Documents shorten: `registry.ts`,
 * `adapters/model/` name whatever ends or lies so.
 * @param files every file of the project, from its root
 */
export function lostFiles(text: string, files: readonly string[]): string[] {
  const prose = text.replaceAll(/^```[^]*?^```/gm, '');
  const isRoom = (path: string): boolean => /^(?:application|adapters|http|jobs|domain)\//.test(path);
  const isThere = (path: string): boolean =>
    path.endsWith('/')
      ? !isRoom(path) || files.some((file) => file.includes(`/${path}`))
      : files.some((file) => `/${file}`.endsWith(`/${path.replace(/^\.?\//, '')}`));
  return [...prose.matchAll(/`([\w./-]+(?:\.(?:ts|tsx|mjs|tf)|\/))`/g)]
    .map(([, path = '']) => path)
    .filter((path) => !path.includes('NAME') && !isThere(path));
}

/** Names of code in backquotes: `two_words`, `twoWords`, `TWO_WORDS`. Where the reader puts a name of their own, none is read. */
export const namesIn = (text: string): string[] =>
  [...text.replaceAll(/^```[^]*?^```/gm, '').matchAll(/`([^`\n]+)`/g)].flatMap(([, span = '']) =>
    /name/i.test(span)
      ? []
      : (span.match(/\b(?:[a-z]+(?:_[a-z0-9]+)+|[a-z]+[A-Z]\w+|[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+)\b/g) ?? []),
  );
