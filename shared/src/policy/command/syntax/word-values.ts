import { spend } from '../scope.ts';
import type { Scope } from '../scope.ts';
import type { Command, CommandExpansionPart, ParameterExpansionPart, Word, WordPart } from './bash-syntax.ts';
import { expandBraces } from './braces.ts';
import { asUnquoted, isKnown, literal, mark } from './marks.ts';

/** The words that one written word may become; each alternative is a list, for braces and splitting make several. */
export type Alternatives = readonly (readonly string[])[];

/** More alternatives than this are cut down to the unknown. */
const maxAlternatives = 16;

/** Whether the word holds an expansion whose text is known only when it runs. */
export function isDynamic(word: Word): boolean {
  return word.parts !== undefined && word.parts.some(isDynamicPart);
}

function isDynamicPart(part: WordPart): boolean {
  switch (part.type) {
    case 'SimpleExpansion':
      return part.text !== '$IFS';
    case 'ParameterExpansion':
      return part.text !== '${IFS}';
    case 'CommandExpansion':
    case 'ArithmeticExpansion':
    case 'ProcessSubstitution':
      return true;
    case 'DoubleQuoted':
    case 'LocaleString':
    case 'BraceExpansion':
      return (part.parts ?? []).some(isDynamicPart);
    default:
      return false;
  }
}

/** What the word becomes when bash expands it into arguments. */
export function wordFields(word: Word, scope: Scope): Alternatives {
  spend(scope.shared);
  if (word.parts === undefined) return [[tilde(literal(word.value), word.text, scope)]];
  const quoted = word.parts.some((part) => /Quoted|LocaleString/.test(part.type));
  const fields = textsOf(word, scope, false).map((text) =>
    expandBraces(text)
      .flatMap((value) => value.split(mark.split))
      .filter((value) => quoted || value !== ''),
  );
  return fields;
}

/** What the word becomes as one text: in assignments, here-documents and redirections, where nothing is split. */
export function wordTexts(word: Word, scope: Scope): readonly string[] {
  spend(scope.shared);
  if (word.parts === undefined) return [tilde(literal(word.value), word.text, scope)];
  return textsOf(word, scope, true);
}

function textsOf(word: Word, scope: Scope, whole: boolean): string[] {
  return joinParts(word.parts ?? [], scope, whole).map((text) => tilde(text, word.text, scope));
}

/** Concatenates the alternatives of the parts. */
export function joinParts(parts: readonly WordPart[], scope: Scope, quoted: boolean): string[] {
  let texts = [''];
  for (const part of parts) {
    const choices = partTexts(part, scope, quoted);
    if (texts.length * choices.length > maxAlternatives) return [mark.unknown];
    texts = texts.flatMap((head) => choices.map((choice) => head + choice));
  }
  return texts;
}

function partTexts(part: WordPart, scope: Scope, quoted: boolean): readonly string[] {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return [literal(part.value)];
    case 'DoubleQuoted':
    case 'LocaleString':
      return joinParts(part.parts, scope, true);
    case 'Glob':
      return [part.kind === 'star' ? mark.star : mark.any];
    case 'ExtendedGlob':
      return [mark.star];
    case 'SimpleExpansion':
      return variableTexts(part.text.slice(1), scope, quoted);
    case 'ParameterExpansion':
      return parameterTexts(part, scope, quoted);
    case 'CommandExpansion':
      return substitutionTexts(part, scope, quoted);
    case 'ArithmeticExpansion':
      return [mark.unknown];
    case 'ProcessSubstitution':
      return ['/dev/fd/63'];
    case 'BraceExpansion':
      return braceTexts(part.text, part.parts ?? [], scope);
  }
}

/** Only the text outside quotes and expansions has active braces and commas; a backslash takes it away. */
function braceTexts(text: string, parts: readonly WordPart[], scope: Scope): string[] {
  if (parts.length === 0) return [activate(text)];
  let texts: string[] = [mark.open];
  for (const [index, part] of parts.entries()) {
    const last = index === parts.length - 1;
    const choices = part.type === 'Literal' ? [activate(part.text)] : partTexts(part, scope, false);
    if (texts.length * choices.length > maxAlternatives) return [mark.unknown];
    texts = texts.flatMap((head) => choices.map((choice) => head + choice + (last ? mark.close : '')));
  }
  return texts;
}

function activate(text: string): string {
  return literal(text).replace(/\\(.)|[{},]/gs, (whole, escaped: string | undefined) => {
    if (escaped !== undefined) return escaped;
    if (whole === '{') return mark.open;
    return whole === ',' ? mark.comma : mark.close;
  });
}

/**
 * Who runs the command, as the shell says it. The sandbox gives no identity but an ordinary one, so any name that is
 * not root's stands for it; a script that sets the variable itself is followed like every other.
 */
const ownIdentity: Readonly<Record<string, string>> = {
  USER: 'user',
  LOGNAME: 'user',
  UID: '1000',
  EUID: '1000',
};

function variableTexts(name: string, scope: Scope, quoted: boolean): readonly string[] {
  if (name === 'HOME' && !scope.shared.variables.has('HOME')) return [mark.home];
  if (name === 'PWD' && !scope.shared.variables.has('PWD')) return [scope.cwd === '' ? '.' : scope.cwd];
  if (Object.hasOwn(ownIdentity, name) && !scope.shared.variables.has(name))
    return [ownIdentity[name] ?? mark.unknown];
  if (name === 'IFS' && !scope.shared.variables.has('IFS')) return [quoted ? ' ' : mark.split];
  const positional = positionalTexts(name, scope);
  const assigned = scope.shared.variables.get(name);
  const found =
    positional === undefined || assigned === undefined
      ? (positional ?? assigned)
      : [...positional, ...assigned];
  if (found === undefined) return [mark.unknown];
  const texts = quoted ? wholeTexts(name, found) : found.flatMap((text) => splitTexts(text, scope));
  return positional !== undefined || scope.certain.has(name) ? texts : [...texts, mark.unknown];
}

/** `"$@"` is as many words as there are parameters, quotes or not. */
function wholeTexts(name: string, found: readonly string[]): readonly string[] {
  return name === '@' ? found : found.map((text) => text.replaceAll(mark.split, ' '));
}

/** Bash splits at blanks, or at what the script puts into `IFS` anywhere. */
function splitTexts(text: string, scope: Scope): readonly string[] {
  const usual = asUnquoted(text);
  const others = (scope.shared.variables.get('IFS') ?? []).filter((chars) => isKnown(chars) && chars !== '');
  return [...new Set([usual, ...others.slice(0, 4).map((chars) => splitAt(usual, chars))])];
}

function splitAt(text: string, chars: string): string {
  return Array.from(text, (char) => (chars.includes(char) ? mark.split : char)).join('');
}

function positionalTexts(name: string, scope: Scope): readonly string[] | undefined {
  if (scope.positional === undefined) return undefined;
  if (name === '@' || name === '*') return [scope.positional.slice(1).join(' ')];
  if (!/^\d$/.test(name)) return undefined;
  return [scope.positional[Number(name)] ?? ''];
}

function parameterTexts(part: ParameterExpansionPart, scope: Scope, quoted: boolean): readonly string[] {
  if (part.prefix !== undefined) return [mark.unknown];
  const own = variableTexts(part.parameter, scope, quoted);
  const operation = part.operation;
  if (operation === undefined) return own;
  if (operation.type !== 'Default') return [mark.unknown];
  // `${X:?}` is X or the end of the shell
  if (operation.operator.endsWith('?')) return own;
  const other = operation.operand.parts === undefined ? undefined : operation.operand.parts;
  const texts = other === undefined ? [literal(operation.operand.value)] : joinParts(other, scope, quoted);
  const others = quoted ? texts : texts.map(asUnquoted);
  return operation.operator.endsWith('+') ? [...others, ''] : [...own, ...others];
}

/** `$(pwd)` and `$(echo …)` can be read; of every other command nobody knows what it will print. */
function substitutionTexts(part: CommandExpansionPart, scope: Scope, quoted: boolean): readonly string[] {
  const statement = part.script?.commands.length === 1 ? part.script.commands[0] : undefined;
  const command = statement?.command;
  if (command?.type !== 'Command' || command.name === undefined) return [mark.unknown];
  if (command.name.value === 'pwd' && command.args.length === 0) return variableTexts('PWD', scope, quoted);
  const read = printedDocument(command);
  if (read !== undefined) return [quoted ? read : asUnquoted(read), mark.unknown];
  const identity = identityPrinted(command);
  if (identity !== undefined) return [identity];
  if (command.name.value !== 'echo' && command.name.value !== 'printf') return [mark.unknown];
  spend(scope.shared, command.args.length);
  const words = command.args.map((arg) => (arg.type === 'Word' ? wordTexts(arg, scope)[0] : undefined));
  if (words.some((word) => word === undefined)) return [mark.unknown];
  const text = words.filter((word) => !/^-[neE]+$/.test(word ?? '')).join(' ');
  return [quoted ? text : asUnquoted(text), mark.unknown];
}

/** `$(cat <<'EOF' …)`: a text of several lines, as people write messages. */
function printedDocument({ name, args, redirects }: Command): string | undefined {
  const document = redirects[0];
  if (name?.value !== 'cat' || args.length > 0 || redirects.length !== 1) return undefined;
  if (document?.type !== 'HereDoc' || document.body.parts !== undefined) return undefined;
  return literal(document.body.text.replace(/\n+$/, ''));
}

/** `$(id -u)`, `$(whoami)`: the same identity as in `$UID` and `$USER`. */
function identityPrinted({ name, args }: Command): string | undefined {
  const text = [name?.value ?? '', ...args.map((arg) => (arg.type === 'Word' ? arg.value : '='))].join(' ');
  if (/^(whoami|logname|id -(un|nu|gn|ng))$/.test(text)) return ownIdentity['USER'];
  return /^id -[ug]$/.test(text) ? ownIdentity['UID'] : undefined;
}

function tilde(text: string, written: string, scope: Scope): string {
  if (!written.startsWith('~')) return text;
  const [whole, user] = /^~([^/]*)/.exec(text) ?? [];
  if (whole === undefined || user === undefined) return text;
  const rest = text.slice(whole.length);
  if (user === '') return mark.home + rest;
  if (user === '+') return (scope.cwd === '' ? '.' : scope.cwd) + rest;
  if (user === 'root') return `/root${rest}`;
  return /^[a-z_][\w-]*$/i.test(user) ? `/home/${user}${rest}` : mark.unknown + rest;
}
