import { judgeExpression, noteEvaluated, notePrinted } from './evaluated-values.ts';
import { variableDoubt } from './hardening/variables.ts';
import { holdsLatentCode, noteLatentWord } from './latent-code.ts';
import { note } from './pieces.ts';
import { branchOff, spend } from './scope.ts';
import type { Scope } from './scope.ts';
import { checkNode, checkScript, forEachChild, readScript, UnreadableScript } from './syntax/bash-syntax.ts';
import type { ParameterExpansionPart, ParsedScript, SyntaxNode } from './syntax/bash-syntax.ts';
import { wordTexts } from './syntax/word-values.ts';

/** Judges a script that stands inside a word. */
export type WalkScript = (script: ParsedScript, scope: Scope) => void;

const holdsCode = /\$\(|`|[<>]\(/;

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
      const input = fed ? ({ from: 'pipe', text: scope.prints } as const) : scope.input;
      return walkScript(
        node.script,
        branchOff(scope, { input, prints: undefined, source: node.script.source ?? scope.source }),
      );
    }
    case 'Word':
      noteLatentWord(node, scope, 'word');
      if (node.parts === undefined) return undefined;
      break;
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return noteLatent(node.value, undefined, scope);
    case 'Literal':
      return noteLatent(node.value, node.text, scope);
    case 'ArithmeticExpansion':
    case 'ArithmeticCommand':
      scope.shared.arithmetic = true;
      noteEvaluated('text' in node ? node.text : node.body, scope);
      judgeExpression(node, 'text' in node ? node.text : node.body, scope);
      if (node.expression === undefined && holdsCode.test('text' in node ? node.text.slice(3) : node.body))
        throw new UnreadableScript('an arithmetic expression cannot be parsed');
      break;
    case 'TestBinary':
      if (!/^-(eq|ne|lt|le|gt|ge)$/.test(node.operator)) break;
      scope.shared.arithmetic = true;
      for (const side of [node.left, node.right]) {
        noteEvaluated(side.text, scope);
        judgeExpression(side, side.text, scope);
      }
      break;
    case 'TestUnary':
      if (node.operator === '-v') scope.shared.arithmetic = true;
      break;
    case 'ParameterExpansion':
      // `${!x}` takes the text of x for a name, its subscript with it
      if (node.index !== undefined || node.prefix === '!') scope.shared.arithmetic = true;
      if (node.index !== undefined) noteLatentWord(node.index, scope, 'subscript');
      judgeDefault(node, scope);
      if (hidesCode(node)) return readPatternAgain(node, scope, walkScript);
      break;
    case 'Slice':
      scope.shared.arithmetic = true;
      for (const place of [node.offset, node.length])
        if (place !== undefined) noteEvaluated(place.text, scope);
      break;
    case 'Transform':
      if (node.operand.value === 'P') note(scope, '@P', 'ask', 'expands a text again that was not judged');
      break;
    case 'Unknown':
      note(scope, node.operator, 'ask', 'an expansion that is not known');
      break;
    case 'Assignment':
      notePrinted(node, scope);
      if (node.index === undefined) break;
      scope.shared.arithmetic = true;
      noteLatentWord(node.index, scope, 'subscript');
      break;
    case 'ArrayValue':
      if (node.elements.some(({ text }) => text.startsWith('['))) scope.shared.arithmetic = true;
      break;
    case 'HereDocBody':
      if (node.parts === undefined) noteLatent(node.text, undefined, scope);
      for (const part of node.parts ?? [])
        if (part.type === 'ParameterExpansion') readBetweenQuotes(part, scope, walkScript);
      break;
    default:
      break;
  }
  return forEachChild(node, (child) => walkWord(child, scope, walkScript));
}

/** `${PATH:=.}` sets the variable like an assignment. */
function judgeDefault({ parameter, operation, text }: ParameterExpansionPart, scope: Scope): void {
  if (operation?.type !== 'Default' || !operation.operator.endsWith('=')) return;
  for (const value of wordTexts(operation.operand, scope)) {
    const doubt = variableDoubt(parameter, value);
    if (doubt !== undefined) note(scope, text, 'ask', doubt);
  }
}

function hidesCode({ operation }: ParameterExpansionPart): boolean {
  return operation?.type === 'Replace' && holdsCode.test(operation.pattern.text);
}

/**
 * The parser ends the pattern of `${x/PATTERN/TEXT}` at the first slash, also inside a substitution, where bash does
 * not: `${x/$(rm -rf /etc)/}` runs it whole. So the operand is read once more as one text, whose slashes mean nothing;
 * quoted as well, for bash's quotes in it depend on those around it.
 */
function readPatternAgain(node: ParameterExpansionPart, scope: Scope, walkScript: WalkScript): void {
  const begin = node.operation?.pos ?? 0;
  forEachChild(node, (child) => {
    // the subscript stands in front and was read well
    if (child.pos < begin) walkWord(child, scope, walkScript);
  });
  const operand = node.text.slice((node.operation?.operatorEnd ?? begin) - node.pos, -1);
  const readings = [`: \${_-${operand}}`, ...(operand.includes("'") ? [`: "\${_-${operand}}"`] : [])];
  for (const source of readings) walkText(source, scope, walkScript);
}

/** In a here-document a single quote is a letter like any other: `${x:-'$(id)'}` runs `id` there. */
function readBetweenQuotes(node: ParameterExpansionPart, scope: Scope, walkScript: WalkScript): void {
  if (!node.text.includes("'") || !holdsCode.test(node.text)) return;
  walkText(`: "${node.text}"`, scope, walkScript);
  // double quotes in the operand end those around it; without them the text is read once more
  if (node.text.includes('"')) walkText(`: "${node.text.replaceAll('"', '')}"`, scope, walkScript);
}

function walkText(source: string, scope: Scope, walkScript: WalkScript): void {
  // such texts can stand in each other
  spend(scope.shared, source.length);
  const script = readScript(source);
  const inside = branchOff(scope, { source });
  for (const { command } of script.commands)
    if (command.type === 'Command') for (const word of command.args) walkWord(word, inside, walkScript);
}

/** A quoted or escaped text that holds code for arithmetic; whether that is a danger is known at the end. */
function noteLatent(value: string, written: string | undefined, scope: Scope): void {
  if (value !== written && holdsLatentCode(value)) scope.shared.latent.add(value);
}
