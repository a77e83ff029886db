import { callOf, waysOf } from './calls.ts';
import { inputOf } from './redirections.ts';
import { spend } from './scope.ts';
import type { Scope } from './scope.ts';
import { forEachChild } from './syntax/bash-syntax.ts';
import type { Command, Redirection, SyntaxNode } from './syntax/bash-syntax.ts';
import type { Call } from './refused/call.ts';
import { isKnown, mark } from './syntax/marks.ts';
import { foundPaths } from './wrappers/find.ts';

/** Programs that hand on what they read. */
const passing: readonly string[] = ['cat', 'tee', 'head', 'tail', 'sort', 'uniq', 'pv', 'sponge'];

/**
 * What a command prints, where its words say it: `echo`, `printf`, `ls`, `find`, `cat` of a here-document. Of a
 * compound command that is what its parts print, one after the other, whichever of them will run.
 */
export function printedText(node: SyntaxNode, scope: Scope): string | undefined {
  spend(scope.shared);
  switch (node.type) {
    case 'Command':
      return printedByCommand(node, scope);
    case 'Statement':
    case 'Redirected':
      return printedText(node.command, scope);
    case 'BraceGroup':
    case 'Subshell':
    case 'For':
    case 'ArithmeticFor':
    case 'Select':
      return printedText(node.body, scope);
    case 'CompoundList':
    case 'AndOr':
      return joined(node.commands, scope);
    case 'While':
      return joined([node.clause, node.body], scope);
    case 'If':
      return joined(
        [
          node.clause,
          node.then,
          ...node.elif.flatMap((branch) => [branch.clause, branch.then]),
          ...(node.else === undefined ? [] : [node.else]),
        ],
        scope,
      );
    case 'Case':
      return joined(
        node.items.map(({ body }) => body),
        scope,
      );
    case 'Pipeline':
      return node.commands.reduce<string | undefined>(
        (text, command, index) =>
          printedText(command, index === 0 ? scope : { ...scope, input: { from: 'pipe', text } }),
        undefined,
      );
    default:
      return undefined;
  }
}

function joined(nodes: readonly SyntaxNode[], scope: Scope): string | undefined {
  const texts = nodes.map((node) => (isSilent(node) ? '' : (printedText(node, scope) ?? mark.unknown)));
  return texts.every((text) => text === '' || text === mark.unknown) ? undefined : cut(texts.join('\n'));
}

/** Which backslashes count depends on the shell and its options; the text may be another one then. */
function inDoubt(text: string, words: readonly string[]): string {
  return words.some((word) => word.includes('\\')) ? `${text}\n${mark.unknown}` : text;
}

/** What is cut off may be anything. */
function cut(text: string): string {
  return text.length > maxLength ? text.slice(0, maxLength) + mark.unknown : text;
}

/** Assignments and `cd` print nothing. */
function isSilent(node: SyntaxNode): boolean {
  if (node.type === 'Statement') return isSilent(node.command);
  if (node.type !== 'Command') return false;
  return (
    node.name === undefined || /^(cd|export|set|true|:|shopt|unset|local|declare)$/.test(node.name.value)
  );
}

function printedByCommand(node: Command, scope: Scope): string | undefined {
  if (node.name === undefined) return undefined;
  const way = waysOf(node, scope)[0];
  const name = node.name.value;
  const words = way?.words.slice(1) ?? [];
  if (passing.includes(name) || (name === 'grep' && filters(words))) return passedText(node, words, scope);
  if (name === 'find') return way === undefined ? undefined : printedByFind(callOf(way, scope.cwd));
  if (name === 'ls') return listedPaths(words).join('\n');
  if (/^(get-childitem|gci)$/i.test(name)) return node.args.map(({ text }) => text).join(' ');
  if (name === 'echo')
    return inDoubt(unescaped(words.filter((word) => !/^-[neE]+$/.test(word)).join(' ')), words);
  return name === 'printf'
    ? inDoubt(formatted(words), words[0]?.includes('%b') === true ? words : [])
    : undefined;
}

/** What `find` prints is what it finds, unless it is told to print something else. */
function printedByFind(call: Call): string {
  const other = call.words.some((word) => /^-(exec|execdir|ok|okdir|printf|files0-from)$/.test(word));
  return [...foundPaths(call), ...(other ? [mark.unknown] : [])].join(' ');
}

/** `grep PATTERN` without files lets lines through as they are. */
function filters(words: readonly string[]): boolean {
  const operands = words.filter((word) => !word.startsWith('-'));
  return operands.length === 1 && words.every((word) => !word.startsWith('-') || /^-[viEFPwxe]+$/.test(word));
}

/** `cat` without files passes on what it reads; with a file nobody knows it. */
function passedText(node: Command, words: readonly string[], scope: Scope): string | undefined {
  if (node.name?.value === 'cat' && words.some((word) => !word.startsWith('-'))) return undefined;
  const own = inputOf(node.redirects, scope);
  if (own !== undefined) return own.text;
  return scope.input.from === 'pipe' ? scope.input.text : undefined;
}

/** `ls` prints the names inside a directory, and paths that a pattern or `-d` names as they are. */
function listedPaths(words: readonly string[]): string[] {
  const operands = words.filter((word) => !word.startsWith('-'));
  const itself = words.some((word) => /^-[a-zA-Z]*d/.test(word));
  const whole = operands.filter((word) => itself || !isKnown(word));
  return whole.length < operands.length || operands.length === 0 ? [...whole, mark.star] : whole;
}

const maxValues = 64;
/** Longer texts would not be judged as a command either. */
const maxLength = 100 * 1024;

/** The format is used again until no value is left. */
function formatted(words: readonly string[]): string {
  const [written = '', ...values] = words[0] === '--' ? words.slice(1) : words;
  // only the format's backslashes count, and those of values for `%b`
  const format = unescaped(written);
  const left = values.slice(0, maxValues);
  let text = '';
  do {
    const before = left.length;
    text += format.replace(/%%|%[-+ #0-9.*]*[a-zA-Z]/g, (found) =>
      found === '%%' ? '%' : valueFor(found, left.shift() ?? ''),
    );
    if (left.length === before || text.length > maxLength) break;
  } while (left.length > 0);
  return text;
}

function valueFor(directive: string, value: string): string {
  return directive.endsWith('b') ? unescaped(value) : value;
}

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', a: '', b: '', c: '', e: '' };

/** `\\n`, `\\x73`, `\\0163`, `\\u0073` as printf and `echo -e` read them. */
function unescaped(text: string): string {
  return text.replace(
    /\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|(0?[0-7]{1,3})|([ntrabce]))/g,
    (_, hex?: string, unicode?: string, octal?: string, letter = '') => {
      const digits = hex ?? unicode;
      if (digits !== undefined) return String.fromCharCode(Number.parseInt(digits, 16));
      return octal === undefined ? (escapes[letter] ?? '') : String.fromCharCode(Number.parseInt(octal, 8));
    },
  );
}

/** What the process substitutions of a command print, each where it is known. */
export function printedFiles(command: Command, scope: Scope): string[] {
  const words = [
    ...command.args,
    ...command.redirects.flatMap((redirect) =>
      'target' in redirect && redirect.target !== undefined ? [redirect.target] : [],
    ),
  ];
  const found = words.flatMap((word) => (word.text.startsWith('<(') ? substitutedTexts(word, scope) : []));
  return [...found, ...command.redirects.flatMap((redirect) => numberedText(redirect, scope))];
}

/** `3<<< TEXT` is read as `/dev/fd/3`. */
function numberedText(redirect: Redirection, scope: Scope): string[] {
  const { descriptor } = redirect;
  if (descriptor?.type !== 'FileDescriptor' || redirect.type === 'Redirect') return [];
  return inputOf([{ ...redirect, descriptor: undefined }], scope)?.text?.split('\0') ?? [];
}

/** What the process substitutions in a word print, each where it is known. */
export function substitutedTexts(node: SyntaxNode, scope: Scope): string[] {
  if (node.type === 'ProcessSubstitution') {
    const statements = node.script?.commands ?? [];
    const inside = { ...scope, source: node.script?.source ?? scope.source };
    return statements.flatMap(({ command }) => printedText(command, inside) ?? []);
  }
  const found: string[] = [];
  forEachChild(node, (child) => {
    found.push(...substitutedTexts(child, scope));
  });
  return found;
}
