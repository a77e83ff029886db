import type { AnyNode } from 'acorn';
import { anyKind } from './swap-table.ts';
import { parentOf, replaceNode, swapNodes, textOf } from './mutation.ts';
import type { Mutation, MutationClass, MutationSite } from './mutation.ts';
import { countMentions, namesInScope } from './names-in-scope.ts';

const unique = (names: readonly string[]): string[] => [...new Set(names)];

function isReference(site: MutationSite): boolean {
  const { node } = site;
  const parent = parentOf(site);
  if (node.type !== 'Identifier' || parent === undefined) return false;
  if (/Function|Pattern|Specifier|Class/.test(parent.type)) return false;
  if (parent.type === 'VariableDeclarator') return parent.init === node;
  if (parent.type === 'MemberExpression') return parent.object === node || parent.computed;
  // A shorthand's one name is key and value; the key's place is the value's.
  return parent.type !== 'Property' || (parent.value === node && !parent.shorthand);
}

/** A variable where another that is in scope was meant. */
export const wrongName: MutationClass = (site) => {
  const { node } = site;
  const parent = parentOf(site);
  if (node.type === 'Literal' && parent?.type === 'MemberExpression' && parent.property === node) {
    return unique(namesInScope(site.ancestors).parameters).map((name) => replaceNode(node, name, 3, anyKind));
  }
  if (node.type !== 'Identifier' || !isReference(site)) return [];
  const names = namesInScope(site.ancestors);
  const isCalled = parent?.type === 'CallExpression' && parent.callee === node;
  const others = isCalled ? names.functions : [...names.parameters, ...names.locals, ...names.constants];
  return unique(others)
    .filter((name) => name !== node.name)
    .map((name) => replaceNode(node, name, isCalled ? 3.5 : 3.75, anyKind));
};

/** `function (b, a)` where `(a, b)` was meant. */
export const swappedParameters: MutationClass = (site) => {
  const { node } = site;
  if (!/Function/.test(node.type) || !('params' in node)) return [];
  const { params } = node;
  return params.slice(1).flatMap((second, index) => {
    const first = params[index];
    return first === undefined ? [] : [swapNodes(site, first, second, 3, anyKind)];
  });
};

/** Expressions whose value goes somewhere: results, members of objects, initial values. */
function valuesOf(node: AnyNode): AnyNode[] {
  if (node.type === 'ReturnStatement' && node.argument != null) return [node.argument];
  if (node.type === 'ArrowFunctionExpression' && node.expression) return [node.body];
  if (node.type === 'Property' && node.value.type !== 'AssignmentPattern') return [node.value];
  if (node.type === 'CallExpression' && node.arguments.length === 1) return [...node.arguments];
  return node.type === 'VariableDeclarator' && node.init != null ? [node.init] : [];
}

const isSmall = (value: AnyNode): boolean => !/Function|Object|Array|Pattern|Spread|Literal/.test(value.type);

/** A value that one of the module's functions should have gone through. */
export const missingWrap: MutationClass = (site) => {
  const isMember = site.node.type === 'Property' && parentOf(site)?.type !== 'ObjectExpression';
  if (isMember || site.ancestors.length < 3) return [];
  const { functions } = namesInScope(site.ancestors);
  const known = site.node.type === 'CallExpression' ? [] : functions;
  const wraps = [
    ...known,
    'Math.round',
    'Math.floor',
    'Math.ceil',
    'Math.abs',
    'Math.trunc',
    'Number',
    'String',
  ];
  return valuesOf(site.node)
    .filter((value) => isSmall(value) && !functions.includes(textOf(site, value)))
    .flatMap((value) => {
      const isShorthand = site.node.type === 'Property' && site.node.shorthand;
      const key = isShorthand ? `${textOf(site, value)}: ` : '';
      return wraps.map((name) => replaceNode(value, `${key}${name}(${textOf(site, value)})`, 4, anyKind));
    });
};

/** `f(x)` where `x` was meant. */
export const extraWrap: MutationClass = (site) => {
  const { node } = site;
  if (node.type !== 'CallExpression' || node.arguments.length !== 1) return [];
  const [only] = node.arguments;
  if (only === undefined || only.type === 'SpreadElement' || /Function/.test(only.type)) return [];
  return [replaceNode(node, textOf(site, only), 3.75, anyKind)];
};

/** A parameter or variable that nothing uses: the term that it made is missing. */
export const missingTerm: MutationClass = (site) => {
  const owner = site.ancestors.find((node) => /Function/.test(node.type));
  const values = valuesOf(site.node).filter(isSmall);
  if (owner === undefined || values.length === 0 || (site.node.type === 'Property' && site.node.shorthand))
    return [];
  const counts = countMentions(owner);
  const names = namesInScope(site.ancestors);
  const unused = unique([...names.parameters, ...names.locals]).filter(
    (name) => (counts.get(name) ?? 0) <= 1,
  );
  const common = site.node.type === 'Property' ? unique(names.locals) : [];
  return values.flatMap((value) =>
    unique([...unused, ...common]).flatMap((name) =>
      ['+', '-', '*', '/'].map((sign) =>
        replaceNode(
          value,
          `${textOf(site, value)} ${sign} ${name}`,
          unused.includes(name) ? 3 : 4.5,
          anyKind,
        ),
      ),
    ),
  );
};

/** A member that an object lacks though a variable of a name that is asked for is at hand. */
export const missingMember: MutationClass = (site) => {
  const { node } = site;
  if (node.type !== 'ObjectExpression') return [];
  const last = node.properties.at(-1);
  if (last === undefined) return [];
  const present = new Set(
    node.properties.flatMap((one) =>
      one.type === 'Property' && one.key.type === 'Identifier' ? [one.key.name] : [],
    ),
  );
  const names = namesInScope(site.ancestors);
  return unique([...names.parameters, ...names.locals])
    .filter((name) => !present.has(name))
    .map((name): Mutation => ({
      start: last.end,
      end: last.end,
      replacement: `, ${name}`,
      cost: site.propertyNames.includes(name) ? 2.5 : 4,
      likes: anyKind,
    }));
};
