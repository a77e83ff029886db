import { stripTypeScriptTypes } from 'node:module';
import { parse } from 'acorn';
import type { AnyNode, Program } from 'acorn';
import { fullAncestor } from 'acorn-walk';

/** A function, method or class member of a source file. */
export interface SourceFunction {
  readonly name: string;
  readonly start: number;
  readonly end: number;
  /** First and last line, from 1. */
  readonly lines: readonly [number, number];
  /** Every identifier and property name in its body: a call graph by name, coarse but never blind. */
  readonly mentions: ReadonlySet<string>;
}

/** One test of a test file: what its body mentions. */
export interface SourceTest {
  readonly name: string;
  readonly mentions: ReadonlySet<string>;
  readonly numbers: ReadonlySet<number>;
}

/** A parsed JavaScript file of the repository. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
  readonly program: Program;
  readonly functions: readonly SourceFunction[];
  /** Module-level declarations that are no functions: name and range. */
  readonly constants: readonly { readonly name: string; readonly start: number; readonly end: number }[];
  /** Relative import specifiers, in order. */
  readonly imports: readonly string[];
  /** Calls such as `test('name', …)` with the names mentioned inside. */
  readonly tests: readonly SourceTest[];
  /** Names mentioned by the smallest statement that holds the line; empty where there is none. */
  readonly mentionsAt: (line: number) => ReadonlySet<string>;
}

/** A TypeScript file with blanks for its types, so that positions stay; undefined for what cannot be stripped. */
function stripTypes(text: string): string | undefined {
  try {
    const stripped = stripTypeScriptTypes(text);
    return stripped.length === text.length ? stripped : undefined;
  } catch {
    // Syntax that needs a compiler (enum, JSX): a file that we cannot mend.
    return undefined;
  }
}

function parseProgram(text: string): Program | undefined {
  for (const sourceType of ['module', 'script'] as const) {
    try {
      return parse(text, { ecmaVersion: 'latest', sourceType, locations: true, allowHashBang: true });
    } catch {
      // Not this kind of script; a file that is neither (JSX, TypeScript) is one that we cannot mend.
    }
  }
  return undefined;
}

function mentionsOf(node: AnyNode): ReadonlySet<string> {
  const names = new Set<string>();
  fullAncestor(node, (inner) => {
    if (inner.type === 'Identifier') names.add(inner.name);
    if (inner.type === 'MemberExpression' && inner.property.type === 'Identifier') {
      names.add(inner.property.name);
    }
  });
  return names;
}

function numbersOf(node: AnyNode): ReadonlySet<number> {
  const numbers = new Set<number>();
  fullAncestor(node, (inner) => {
    if (inner.type === 'Literal' && typeof inner.value === 'number') numbers.add(inner.value);
  });
  return numbers;
}

const keyName = (key: AnyNode): string =>
  key.type === 'Identifier' || key.type === 'PrivateIdentifier' ? key.name : '';

function nameOfFunction(node: AnyNode, parent: AnyNode | undefined): string | undefined {
  if (node.type === 'FunctionDeclaration') return node.id?.name ?? 'default';
  if (node.type !== 'FunctionExpression' && node.type !== 'ArrowFunctionExpression') return undefined;
  if (parent?.type === 'VariableDeclarator') return keyName(parent.id);
  if (parent?.type === 'MethodDefinition' || parent?.type === 'PropertyDefinition') {
    return keyName(parent.key);
  }
  if (parent?.type === 'Property') return keyName(parent.key);
  return undefined;
}

function classNameOf(ancestors: readonly AnyNode[]): string | undefined {
  const owner = ancestors.findLast((node) => node.type === 'ClassDeclaration');
  return owner?.type === 'ClassDeclaration' ? owner.id?.name : undefined;
}

function readFunctions(program: Program): SourceFunction[] {
  const functions: SourceFunction[] = [];
  fullAncestor(program, (node, _state, ancestors) => {
    const name = nameOfFunction(node, ancestors.at(-2));
    if (name === undefined || name === '' || node.loc == null) return;
    functions.push({
      // `new Queue()` mentions the class, so its constructor goes by the class' name.
      name: name === 'constructor' ? (classNameOf(ancestors) ?? name) : name,
      start: node.start,
      end: node.end,
      lines: [node.loc.start.line, node.loc.end.line],
      mentions: mentionsOf(node),
    });
  });
  return functions;
}

function readConstants(program: Program): SourceFile['constants'] {
  return program.body
    .map((statement) =>
      statement.type === 'ExportNamedDeclaration' ? (statement.declaration ?? statement) : statement,
    )
    .flatMap((statement) => (statement.type === 'VariableDeclaration' ? statement.declarations : []))
    .filter((declarator) => !/Function/.test(declarator.init?.type ?? ''))
    .map((declarator) => ({
      name: keyName(declarator.id),
      start: declarator.start,
      end: declarator.end,
    }));
}

function readImports(program: Program): string[] {
  const found: string[] = [];
  fullAncestor(program, (node) => {
    const source =
      node.type === 'ImportDeclaration' || node.type === 'ExportNamedDeclaration'
        ? node.source
        : node.type === 'CallExpression' &&
            node.callee.type === 'Identifier' &&
            node.callee.name === 'require'
          ? node.arguments[0]
          : undefined;
    if (source?.type === 'Literal' && typeof source.value === 'string' && source.value.startsWith('.')) {
      found.push(source.value);
    }
  });
  return found;
}

function readTests(program: Program): SourceFile['tests'] {
  const tests: SourceTest[] = [];
  fullAncestor(program, (node) => {
    if (node.type !== 'CallExpression') return;
    const [title] = node.arguments;
    if (title?.type === 'Literal' && typeof title.value === 'string' && node.arguments.length > 1) {
      tests.push({ name: title.value, mentions: mentionsOf(node), numbers: numbersOf(node) });
    }
  });
  return tests;
}

function mentionsAtLine(program: Program, line: number): ReadonlySet<string> {
  let smallest: AnyNode | undefined;
  fullAncestor(program, (node) => {
    if (!/Statement$|Declaration$/.test(node.type) || node.type === 'BlockStatement' || node.loc == null)
      return;
    if (node.loc.start.line > line || node.loc.end.line < line) return;
    const isSmaller = smallest === undefined || node.end - node.start < smallest.end - smallest.start;
    if (isSmaller) smallest = node;
  });
  return smallest === undefined ? new Set() : mentionsOf(smallest);
}

/** The syntax tree of a file; undefined for what is neither JavaScript nor TypeScript that node runs as it is. */
export function readProgram(path: string, text: string): Program | undefined {
  const code = /\.[cm]?ts$/.test(path) ? stripTypes(text) : text;
  return code === undefined ? undefined : parseProgram(code);
}

/** Parses a file; undefined where `readProgram` finds no syntax tree. */
export function readSourceFile(path: string, text: string): SourceFile | undefined {
  const program = readProgram(path, text);
  if (program === undefined) return undefined;
  return {
    path,
    text,
    program,
    functions: readFunctions(program),
    constants: readConstants(program),
    imports: readImports(program),
    tests: readTests(program),
    mentionsAt: (line) => mentionsAtLine(program, line),
  };
}
