import { spend } from './scope.ts';
import type { Scope } from './scope.ts';
import type { Word, WordPart } from './syntax/bash-syntax.ts';
import { wordTexts } from './syntax/word-values.ts';

/**
 * Whether a text would run something if bash evaluated it as arithmetic: bash expands a subscript again, so that
 * a substitution inside brackets runs, whatever quotes stood around it.
 * @param depth 1 for a text that is a subscript itself
 */
export function holdsLatentCode(text: string, depth = 0): boolean {
  let open = depth;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === '[') open += 1;
    else if (char === ']') open = Math.max(depth, open - 1);
    else if (open > 0 && (char === '`' || (char === '$' && text[at + 1] === '('))) return true;
  }
  return false;
}

/** Notes the text of a word that arithmetic would run; whether that is a danger is known at the end. */
export function noteLatentWord(word: Word, scope: Scope, place: 'word' | 'subscript'): void {
  if (!/[$`]/.test(word.text)) return;
  const depth = place === 'subscript' ? 1 : 0;
  const bracket = place === 'subscript' || word.text.includes('[') || /\$'/.test(word.text);
  if (!bracket) return;
  spend(scope.shared, 1 + (word.text.length >> 6));
  const inert = inertText(word);
  if (holdsLatentCode(inert, depth)) scope.shared.latent.add(inert);
  if (word.parts === undefined || inert === word.text) return;
  for (const text of wordTexts(word, scope)) if (holdsLatentCode(text, depth)) scope.shared.latent.add(text);
}

/** What of a word is text before anything runs; an expansion of its own leaves a letter. Quotes are taken away. */
function inertText(word: Word): string {
  const text = word.parts === undefined ? (word.value === word.text ? '' : word.value) : joined(word.parts);
  // a backslash that is left over is gone after the second reading
  return text.replace(/["'\\]/g, '');
}

function joined(parts: readonly WordPart[]): string {
  return parts.map(inertPart).join('');
}

function inertPart(part: WordPart): string {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return part.value;
    case 'DoubleQuoted':
    case 'LocaleString':
      return joined(part.parts);
    case 'Glob':
      return part.parts === undefined ? part.text : `[${joined(part.parts)}]`;
    case 'BraceExpansion':
      return part.text;
    default:
      return '_';
  }
}
