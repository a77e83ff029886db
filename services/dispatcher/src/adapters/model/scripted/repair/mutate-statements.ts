import type { AnyNode } from 'acorn';
import { anyKind } from './swap-table.ts';
import { parentOf, replaceNode, textOf } from './mutation.ts';
import type { Mutation, MutationClass, MutationSite } from './mutation.ts';
import { countMentions, namesInScope } from './names-in-scope.ts';

const unique = (names: readonly string[]): string[] => [...new Set(names)];
const insert = (at: number, replacement: string, cost: number): Mutation => ({
  start: at,
  end: at,
  replacement,
  cost,
  likes: anyKind,
});

/** The blanks before the line that a place is on. */
function marginAt(site: MutationSite, at: number): string {
  const line = site.text.slice(site.text.lastIndexOf('\n', at - 1) + 1, at);
  return /^\s*/.exec(line)?.[0] ?? '';
}

const isBody = (site: MutationSite): boolean => /Function/.test(parentOf(site)?.type ?? '');

/** A function whose last statement is a value that nobody gets, or that ends without giving one. */
export const missingReturn: MutationClass = (site) => {
  const { node } = site;
  if (node.type !== 'BlockStatement' || !isBody(site)) return [];
  const last = node.body.at(-1);
  if (last === undefined || last.type === 'ReturnStatement') return [];
  if (last.type === 'ExpressionStatement' && last.expression.type !== 'AssignmentExpression') {
    return [insert(last.start, 'return ', 1), ...returnsAfter(site, last)];
  }
  return returnsAfter(site, last);
};

function returnsAfter(site: MutationSite, last: AnyNode): Mutation[] {
  const { parameters, locals } = namesInScope(site.ancestors);
  const margin = marginAt(site, last.start);
  return [
    ...unique(locals).map((name) => insert(last.end, `\n${margin}return ${name};`, 2)),
    ...['this', ...unique(parameters)].map((name) => insert(last.end, `\n${margin}return ${name};`, 3)),
  ];
}

/** `if` where `while` was meant, and the other way round. */
export const wrongKeyword: MutationClass = (site) => {
  const { node } = site;
  if (node.type === 'IfStatement' && node.alternate == null) {
    return [{ start: node.start, end: node.start + 2, replacement: 'while', cost: 3, likes: anyKind }];
  }
  if (node.type !== 'WhileStatement') return [];
  return [{ start: node.start, end: node.start + 5, replacement: 'if', cost: 3, likes: anyKind }];
};

/** A whole condition that is turned round. */
export const invertedCondition: MutationClass = (site) => {
  const { node } = site;
  const isConditional =
    node.type === 'IfStatement' || node.type === 'WhileStatement' || node.type === 'ConditionalExpression';
  if (!isConditional || node.test.type === 'UnaryExpression') return [];
  const isSingle = /Call|Member|Identifier/.test(node.test.type);
  const test = textOf(site, node.test);
  return [replaceNode(node.test, isSingle ? `!${test}` : `!(${test})`, 2.25, anyKind)];
};

/** A branch of a loop that should have ended there. */
export const missingEnd: MutationClass = (site) => {
  const { node } = site;
  if (node.type !== 'BlockStatement' || parentOf(site)?.type !== 'IfStatement') return [];
  const last = node.body.at(-1);
  if (last === undefined || /^(?:Return|Throw|Continue|Break)/.test(last.type)) return [];
  const isInLoop = site.ancestors.some((outer) => /^(?:For|While|DoWhile)/.test(outer.type));
  const ends = isInLoop ? ['continue;', 'break;', 'return;'] : ['return;'];
  const margin = marginAt(site, last.start);
  return ends.map((end) => insert(last.end, `\n${margin}${end}`, 3.25));
};

function memberFields(program: AnyNode | undefined): string[] {
  if (program?.type !== 'Program') return [];
  return program.body
    .map((outer) => (outer.type === 'ExportNamedDeclaration' ? outer.declaration : outer))
    .flatMap((node) => (node?.type === 'ClassDeclaration' ? node.body.body : []))
    .flatMap((member) => {
      if (member.type !== 'PropertyDefinition') return [];
      if (member.key.type === 'PrivateIdentifier') return [`this.#${member.key.name}`];
      return member.key.type === 'Identifier' ? [`this.${member.key.name}`] : [];
    });
}

/** What could be done with something that nothing uses: `list.push(item)`, `total += amount`, `this.bound = bound`. */
function lostStatements(site: MutationSite, owner: AnyNode): string[] {
  const counts = countMentions(owner);
  const { parameters, locals } = namesInScope(site.ancestors);
  const isUnused = (name: string): boolean => (counts.get(name) ?? 0) <= 1;
  const fields = memberFields(site.ancestors[0]);
  const fromParameters = parameters
    .filter(isUnused)
    .flatMap((name) =>
      [...fields, ...locals].flatMap((target) => [
        `${target}.push(${name});`,
        `${target} = ${name};`,
        `${target} += ${name};`,
      ]),
    );
  const others = unique([...locals, ...parameters]);
  const toLocals = unique(locals)
    .filter((name) => (counts.get(name) ?? 0) <= 3)
    .flatMap((name) => [
      `${name} += 1;`,
      ...others
        .filter((other) => other !== name)
        .flatMap((other) => [`${name} = ${other};`, `${name} += ${other};`, `${name}.push(${other});`]),
    ]);
  return unique([...fromParameters, ...toLocals]).slice(0, 24);
}

/** A statement that has been lost: guessed from what is declared and hardly used. */
export const missingStatement: MutationClass = (site) => {
  const { node } = site;
  const owner = site.ancestors.findLast((outer) => /Function/.test(outer.type));
  if (node.type !== 'BlockStatement' || owner === undefined) return [];
  const statements = lostStatements(site, owner);
  const last = node.body.at(-1);
  if (last === undefined) return statements.map((text) => insert(node.start + 1, ` ${text} `, 5));
  const margin = marginAt(site, last.start);
  const isEnd = /^(?:Return|Throw|Continue|Break)/.test(last.type);
  return statements.map((text) =>
    isEnd ? insert(last.start, `${text}\n${margin}`, 5) : insert(last.end, `\n${margin}${text}`, 5),
  );
};
