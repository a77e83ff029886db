import { forEachChild, parse } from 'unbash';
import type { ParsedScript } from 'unbash';

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
