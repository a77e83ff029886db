import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One variable as a schema has it. */
export interface Variable {
  readonly name: string;
  readonly meaning: string;
  readonly takes: string;
  readonly usual: string;
}

/** Files that hold the one schema of each service, and what people call the service. */
const schemas = [
  ['Dispatcher', 'services/dispatcher/src/config.ts'],
  ['Agent server', 'services/agent-server/src/config.ts'],
  ['Audit exporter', 'services/audit-exporter/src/config.ts'],
  ['Local fleet (`npm start`), beside those of the services', 'infra/local/src/config.ts'],
] as const;

/** Reads the members of the first `z.object({…})` of a source file, with the comments above them. */
export function readVariables(source: string): Variable[] {
  const from = source.indexOf('z.object({');
  const body = source.slice(from, source.indexOf('\n});', from));
  const members = [...body.matchAll(/^ {2}([A-Z][A-Z0-9_]+):/gm)];
  return members.map((member, index) => {
    const start = member.index + member[0].length;
    const expression = body
      .slice(start, members[index + 1]?.index ?? body.length)
      .replaceAll(/\s*\n\s*/g, '');
    const before = body.slice(index === 0 ? 0 : (members[index - 1]?.index ?? 0), member.index);
    const comment = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*$/.exec(before)?.[1] ?? '';
    return {
      name: member[1] ?? '',
      meaning: comment.replaceAll(/\s*\n\s*\*?\s*/g, ' ').trim(),
      takes: takes(expression),
      usual: usual(expression),
    };
  });
}

const kinds: readonly (readonly [RegExp, (match: RegExpExecArray) => string])[] = [
  [
    /variable\.integer\(\s*([^,()]+?)\s*,\s*([^,()]+?)\s*,?\s*\)/,
    ([, low = '', high = '']) =>
      high === 'Number.MAX_SAFE_INTEGER' ? `from ${product(low)}` : `${product(low)} to ${product(high)}`,
  ],
  [/variable\.boolean/, () => '`true`, `false`'],
  [/variable\.secret/, () => 'a secret'],
  [
    /variable\.url\(([^)]*)\)/,
    ([, schemes = '']) => `a URL, ${schemes.replaceAll("'", '`').replaceAll(':`', ':`')}`,
  ],
  [/variable\.oneOf\(\[([^\]]*)\]/, ([, words = '']) => words.replaceAll("'", '`')],
];

/** A number as it stands in a schema, or a product of such. @throws for what is neither: the page would lie. */
function product(written: string): string {
  const value = written
    .split('*')
    .map((factor) => Number(plain(factor.trim())))
    .reduce((product, factor) => product * factor, 1);
  if (Number.isNaN(value)) throw new Error(`the bound "${written}" of a setting is no number`);
  return String(value);
}

const plain = (number: string): string => number.replaceAll('_', '');

function takes(expression: string): string {
  for (const [pattern, say] of kinds) {
    const match = pattern.exec(expression);
    if (match !== null) return say(match);
  }
  return 'text';
}

function usual(expression: string): string {
  const given = /\.default\(((?:[^()]|\([^()]*\))*)\)/.exec(expression)?.[1];
  if (given !== undefined)
    return given === "''" || given === '[]' ? 'empty' : `\`${plain(given).replaceAll("'", '')}\``;
  return expression.includes('.optional()') ? '–' : '**needed**';
}

/** `docs/operations/configuration.md`. */
export function configurationReference(projectRoot: string): string {
  const sections = schemas.map(([title, file]) => {
    const rows = readVariables(readFileSync(join(projectRoot, file), 'utf8')).map(
      ({ name, meaning, takes: kind, usual: value }) =>
        `| \`${name}\` | ${kind.replaceAll('|', '\\|')} | ${value} | ${meaning.replaceAll('|', '\\|')} |`,
    );
    return [
      `## ${title}`,
      '',
      '| variable | takes | usual | meaning |',
      '| --- | --- | --- | --- |',
      ...rows,
    ].join('\n');
  });
  return `${[
    '# Configuration',
    'Made from the schemas of the services by `node infra/local/src/reference/write-reference.ts`; a test holds it current.\nAn empty variable counts as absent; an unreadable one ends the start with its name. Files are PEM unless said otherwise.\nTelemetry takes the `OTEL_…` variables of OpenTelemetry: [telemetry.md](telemetry.md).',
    ...sections,
  ].join('\n\n')}\n`;
}
