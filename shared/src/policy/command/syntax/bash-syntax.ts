import { forEachChild, parse } from 'unbash';
import type { Command, ParsedScript, SyntaxNode } from 'unbash';

export { forEachChild };
export type {
  Assignment,
  Command,
  CommandArgument,
  CommandExpansionPart,
  ParameterExpansionPart,
  ParsedScript,
  Pipeline,
  Redirection,
  Statement,
  SyntaxNode,
  Word,
  WordPart,
} from 'unbash';

/** The text is not a script that was understood from end to end; nothing of it may run. */
export class UnreadableScript extends Error {}

/**
 * Parses bash. The parser recovers from errors and goes on with a best guess; a guess is no ground for a verdict,
 * so that any error makes the whole text unreadable.
 * @throws UnreadableScript
 */
export function readScript(text: string): ParsedScript {
  const script = parse(text);
  checkScript(script);
  return script;
}

/**
 * Nested scripts (substitutions) are parsed when they are first looked at and carry their own errors.
 * @throws UnreadableScript
 */
export function checkScript(script: ParsedScript | undefined): asserts script is ParsedScript {
  if (script === undefined) throw new UnreadableScript('a substitution cannot be parsed');
  const error = script.errors?.[0];
  if (error !== undefined)
    throw new UnreadableScript(`cannot be parsed at character ${error.pos + 1}: ${error.message}`);
}

/**
 * The parser drops an open parenthesis behind a name (`ls (`) without an error; bash refuses the line.
 * @throws UnreadableScript
 */
export function checkName(command: Command, source: string): void {
  if (command.name === undefined) return;
  let at = command.name.end;
  while (source[at] === ' ' || source[at] === '\t') at += 1;
  if (source[at] === '(')
    throw new UnreadableScript(`a parenthesis at character ${at + 1} belongs to nothing`);
}

const openArithmetic = /(?<!\\)(?:\\\\)*\$\[/;

function hasParts(node: SyntaxNode): boolean {
  return node.type === 'Word' && node.parts !== undefined;
}

const quotedText = /\\[^]|'[^']*'|"(?:\\[^]|[^"\\])*"/g;

/**
 * Two more things that bash refuses and the parser takes: an old arithmetic expansion without its end, and an open
 * quote in the delimiter of a here-document.
 * @throws UnreadableScript
 */
export function checkNode(node: SyntaxNode): void {
  if ((node.type === 'Literal' || node.type === 'Word') && openArithmetic.test(node.text) && !hasParts(node))
    throw new UnreadableScript('an arithmetic expansion has no end');
  if (node.type === 'HereDocDelimiter' && /["']/.test(node.text.replace(quotedText, '')))
    throw new UnreadableScript('the delimiter of a here-document has an open quote');
}
