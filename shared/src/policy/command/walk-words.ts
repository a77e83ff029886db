import { note } from './pieces.ts';
import { branchOff, spend } from './scope.ts';
import type { Scope } from './scope.ts';
import { checkNode, checkScript, forEachChild, UnreadableScript } from './syntax/bash-syntax.ts';
import type { ParsedScript, SyntaxNode } from './syntax/bash-syntax.ts';

/** Judges a script that stands inside a word. */
export type WalkScript = (script: ParsedScript, scope: Scope) => void;

const holdsCode = /\$\(|`|[<>]\(/;
/** A subscript with a substitution in it: bash runs it when the text is evaluated as arithmetic. */
const latentCode = /\[[^\][]*(\$\(|`)/;

/** Finds everything in a word that runs: substitutions at any depth, and texts that bash would expand again. */
export function walkWord(node: SyntaxNode, scope: Scope, walkScript: WalkScript): void {
  spend(scope.shared);
  checkNode(node);
  switch (node.type) {
    case 'CommandExpansion':
    case 'ProcessSubstitution':
    case 'ArithmeticCommandExpansion': {
      checkScript(node.script);
      const fed = node.type === 'ProcessSubstitution' && node.operator === '>';
      const input = fed ? ({ from: 'surroundings' } as const) : scope.input;
      return walkScript(node.script, branchOff(scope, { input, source: node.script.source ?? scope.source }));
    }
    case 'Word':
      if (node.parts === undefined) return noteLatent(node.value, node.text, scope);
      break;
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return noteLatent(node.value, undefined, scope);
    case 'Literal':
      return noteLatent(node.value, node.text, scope);
    case 'ArithmeticExpansion':
    case 'ArithmeticCommand':
      scope.shared.arithmetic = true;
      if (node.expression === undefined && holdsCode.test('text' in node ? node.text.slice(3) : node.body))
        throw new UnreadableScript('an arithmetic expression cannot be parsed');
      break;
    case 'TestBinary':
      if (/^-(eq|ne|lt|le|gt|ge)$/.test(node.operator)) scope.shared.arithmetic = true;
      break;
    case 'TestUnary':
      if (node.operator === '-v') scope.shared.arithmetic = true;
      break;
    case 'ParameterExpansion':
      // `${!x}` takes the text of x for a name, its subscript with it
      if (node.index !== undefined || node.prefix === '!') scope.shared.arithmetic = true;
      break;
    case 'Slice':
      scope.shared.arithmetic = true;
      break;
    case 'Transform':
      if (node.operand.value === 'P') note(scope, '@P', 'ask', 'expands a text again that was not judged');
      break;
    case 'Unknown':
      note(scope, node.operator, 'ask', 'an expansion that is not known');
      break;
    case 'Assignment':
      if (node.index !== undefined) scope.shared.arithmetic = true;
      break;
    default:
      break;
  }
  return forEachChild(node, (child) => walkWord(child, scope, walkScript));
}

/** A quoted or escaped text that holds code for arithmetic; whether that is a danger is known at the end. */
function noteLatent(value: string, written: string | undefined, scope: Scope): void {
  if (value !== written && latentCode.test(value)) scope.shared.latent.push(value);
}
