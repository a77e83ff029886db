import type { AnyNode } from 'acorn';
import { isArithmetic, parentOf, replaceNode, textOf } from './mutation.ts';
import type { Mutation, MutationClass, MutationSite } from './mutation.ts';

/** `true` ↔ `false`. */
export const wrongBoolean: MutationClass = ({ node }) =>
  node.type === 'Literal' && typeof node.value === 'boolean'
    ? [replaceNode(node, String(!node.value), 1.5, ['boolean', 'length', 'order', 'not_thrown'])]
    : [];

// Decimal noise of float division must not become a constant in somebody's source.
const tidy = (value: number): number => Number(value.toPrecision(10));
// Powers of ten are scales (percent, cents, milliseconds), and a scale is mistaken by a power.
const isScale = (value: number): boolean =>
  value > 1 ? Number.isInteger(Math.log10(value)) : value > 0 && value < 1;
const isPlain = (value: number): boolean =>
  Number.isFinite(value) && value >= 0 && String(value).length <= 10 && !String(value).includes('e');

/** What the ratio or the difference of expected and actual makes of a constant; 0 and 1 would become anything. */
function derivedNumbers(value: number, site: MutationSite): number[] {
  if (value <= 1) return [];
  return site.evidence.pairs.flatMap(({ expected, actual }) => {
    if (typeof expected !== 'number' || typeof actual !== 'number') return [];
    const scaled =
      actual === 0 || expected === 0 ? [] : [(value * expected) / actual, (value * actual) / expected];
    const shifted = [value + expected - actual, value - expected + actual];
    return [...scaled, ...shifted];
  });
}

// The lengths that calendars and clocks are made of, and the scales between units.
const unitLengths = new Set([7, 10, 12, 24, 60, 100, 365, 1000, 3600]);

/**
 * How much likelier than a number anywhere a number is wrong where this one stands: one that is compared for equality,
 * or an entry of a table, is somebody's decision; 60 in `24 * 60 * 60` is not.
 */
function suspicion(value: number, parent: AnyNode | undefined): number {
  if (parent?.type === 'BinaryExpression') {
    if (['===', '!==', '==', '!='].includes(parent.operator)) return 0.75;
    return isArithmetic(parent) && unitLengths.has(value) ? -1.5 : 0;
  }
  return parent?.type === 'Property' ? 2 : 0;
}

// Tried only where a rehearsal says that they help; people's constants are mostly among them.
const familiarNumbers = [0, 1, 2, 3, 5, 7, 10, 12, 24, 30, 60, 100, 365, 1000];
const nearSteps = [-2, 2, -3, 3];

/** A wrong constant: one off, or what the ratio or the difference of expected and actual suggests. */
export const wrongNumber: MutationClass = (site) => {
  const { node } = site;
  if (node.type !== 'Literal' || typeof node.value !== 'number') return [];
  const { value } = node;
  // A constant that is the wrong result itself; 0 and 1 are that by chance.
  const wanted = site.evidence.pairs.flatMap(({ expected, actual }) =>
    actual === value && typeof expected === 'number'
      ? [{ proposal: expected, cost: value > 1 ? 0.5 : 1.25 }]
      : [],
  );
  const proposals = [
    ...wanted,
    ...derivedNumbers(value, site).map((proposal) => ({ proposal: tidy(proposal), cost: 1.75 })),
    ...[...site.testNumbers].map((proposal) => ({ proposal, cost: 3.25 })),
    { proposal: value - 1, cost: 2.25 },
    { proposal: value + 1, cost: 2.25 },
    ...(isScale(value) ? [value * 10, value / 10] : []).map((proposal) => ({
      proposal: tidy(proposal),
      cost: 2.25,
    })),
    ...[value * 10, value / 10].map((proposal) => ({ proposal: tidy(proposal), cost: 3 })),
    ...familiarNumbers.map((proposal) => ({ proposal, cost: 4 })),
    ...nearSteps.map((step) => ({ proposal: value + step, cost: 4 })),
  ];
  const suspected = suspicion(value, parentOf(site));
  // What the result suggests says nothing about a table's entry, which is far from the result.
  const derived = new Set(derivedNumbers(value, site).map(tidy));
  const best = new Map<number, number>();
  for (const { proposal, cost: plainCost } of proposals) {
    const cost =
      plainCost -
      (derived.has(proposal) ? Math.min(suspected, 0) : suspected) -
      (value > 1 && site.testNumbers.has(proposal) && !site.testNumbers.has(value) ? 0.75 : 0);
    if (proposal !== value && isPlain(proposal) && !best.has(proposal)) best.set(proposal, cost);
  }
  return [...best].map(([proposal, cost]) =>
    replaceNode(node, String(proposal), cost, [
      'off_by_one',
      'number',
      'length',
      'boolean',
      'thrown',
      'not_thrown',
      'string',
    ]),
  );
};

function quoteLike(original: string, value: string): string {
  const quote = original.startsWith('"') ? '"' : "'";
  const escaped = JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"');
  return `${quote}${escaped.replaceAll(quote, `\\${quote}`)}${quote}`;
}

// Separators that are often taken for each other.
const separatorSwaps: readonly (readonly string[])[] = [
  ['', ' '],
  ['-', '_'],
  [',', ', ', ';'],
  ['.', ','],
  ['/', '-'],
  ['\n', ' ', ''],
  [':', '-'],
];

function repairText(text: string, site: MutationSite): { text: string; cost: number }[] {
  const wholes = site.evidence.pairs.flatMap(({ expected, actual }) =>
    actual === text && typeof expected === 'string' ? [{ text: expected, cost: 0 }] : [],
  );
  const parts = site.evidence.fragments.flatMap(({ expected, actual }) => {
    if (actual === '') return text === '' ? [{ text: expected, cost: 0.75 }] : [];
    return text.includes(actual) ? [{ text: text.replace(actual, () => expected), cost: 0.5 }] : [];
  });
  // A part that is too much or missing at the border of a literal: 'ab' printed where 'a, b' was expected.
  const grown = site.evidence.fragments.flatMap(({ expected, actual }) =>
    actual === '' && text !== ''
      ? [
          { text: text + expected, cost: 2.25 },
          { text: expected + text, cost: 2.25 },
        ]
      : [],
  );
  const swapped = separatorSwaps
    .filter((group) => group.includes(text))
    .flatMap((group) => group.map((other) => ({ text: other, cost: 2.5 })));
  return [...wholes, ...parts, ...grown, ...swapped].filter((proposal) => proposal.text !== text);
}

/** A wrong text: the fragment that differs, found in a literal or a template. */
export const wrongString: MutationClass = (site) => {
  const { node } = site;
  if (node.type === 'TemplateElement') {
    return repairText(node.value.cooked ?? '', site).map(({ text, cost }) =>
      replaceNode(node, text.replaceAll('`', '\\`').replaceAll('${', '\\${'), cost + 0.25, ['string']),
    );
  }
  if (node.type !== 'Literal' || typeof node.value !== 'string' || isImport(parentOf(site))) return [];
  const original = textOf(site, node);
  const words = /^\w+$/.test(node.value) ? site.propertyNames.slice(0, 40) : [];
  const others = words.map((text) => ({ text, cost: 4 })).filter(({ text }) => text !== node.value);
  return [...repairText(node.value, site), ...others].map(({ text, cost }) =>
    replaceNode(node, quoteLike(original, text), cost, ['string', 'length']),
  );
};

const isImport = (node: AnyNode | undefined): boolean =>
  node !== undefined && /^(Import|Export)/.test(node.type);

function regexVariants(source: string): string[] {
  const plus = source.replace(/(?<!\\)\+/, '*');
  const star = source.replace(/(?<!\\)\*/, '+');
  const greedy = source.replace(/(\]|\)|\w)(\/|$)/, '$1+$2');
  const inverted = source.replace('[^', '[');
  const counted = [1, -1].map((step) =>
    source.replace(/\{(\d+)\}/, (_, count: string) => `{${Number(count) + step}}`),
  );
  return [...new Set([plus, star, inverted, greedy, ...counted])].filter((variant) => variant !== source);
}

/** A pattern's flags and quantifiers. */
export const wrongPattern: MutationClass = (site) => {
  const { node } = site;
  if (node.type !== 'Literal' || node.regex == null) return [];
  const { pattern, flags } = node.regex;
  const toggled = ['g', 'i'].map((flag) =>
    flags.includes(flag) ? flags.replace(flag, '') : `${flags}${flag}`,
  );
  return [
    ...toggled.map((other) => replaceNode(node, `/${pattern}/${other}`, 1.75, ['string', 'boolean'])),
    ...regexVariants(pattern).map((other) =>
      replaceNode(node, `/${other}/${flags}`, 2.25, ['string', 'boolean']),
    ),
  ];
};

const defaults = ['[]', "''", '0', 'null', 'undefined', '{}', 'false', 'true'];

function writeLeaf(value: unknown): string {
  return typeof value === 'string' ? quoteLike("'", value) : String(value);
}

/** A wrong value that is returned as it stands: `return null` where the test wants `[]`. */
export const wrongDefault: MutationClass = (site) => {
  const { node } = site;
  const parent = parentOf(site);
  const isEmpty =
    (node.type === 'ArrayExpression' && node.elements.length === 0) ||
    (node.type === 'ObjectExpression' && node.properties.length === 0) ||
    node.type === 'Literal' ||
    (node.type === 'Identifier' && node.name === 'undefined');
  const isResult =
    parent?.type === 'ReturnStatement' ||
    (parent?.type === 'LogicalExpression' && parent.right === node) ||
    (parent?.type === 'AssignmentPattern' && parent.right === node) ||
    (parent?.type === 'ConditionalExpression' && parent.test !== node);
  if (!isEmpty || !isResult) return [];
  const original = textOf(site, node);
  const wanted = site.evidence.pairs.map((pair) => writeLeaf(pair.expected));
  const known = (list: readonly string[], cost: number): Mutation[] =>
    list
      .filter((text) => text !== original)
      .map((text) => replaceNode(node, text, cost, ['missing_value', 'length', 'thrown']));
  return [...known([...new Set(wanted)], 1.5), ...known(defaults, 2.75)];
};
