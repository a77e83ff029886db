import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { createProgram } from '@lemniscate/cli/program.ts';
import { describePublicApi } from '@lemniscate/dispatcher/http/describe-public-api.ts';
import { metricCatalogue } from '@lemniscate/shared/telemetry/metric-catalogue.ts';
import { projectRoot } from '../project-root.ts';
import { foreignWords, lostFiles, namesIn, readDocuments } from './document-words.ts';
import type { KnownWords } from './document-words.ts';

const program = createProgram({
  stdin: new PassThrough(),
  stdout: new PassThrough(),
  stderr: new PassThrough(),
  env: {},
  interactive: false,
  colour: false,
  signal: new AbortController().signal,
  setExitCode: () => undefined,
});

function unknownInCommand(words: readonly string[]): string | null {
  let command = program;
  const options = new Set(['--help', '-h', '--version']);
  const take = () => {
    for (const { long, short } of command.options) for (const flag of [long, short]) options.add(flag ?? '');
  };
  take();
  let value = false;
  for (const word of words) {
    const below = command.commands.find((one) => [one.name(), ...one.aliases()].includes(word));
    if (below !== undefined && !value) {
      command = below;
      take();
    } else if (/^--?[a-z]/.test(word)) {
      const [flag = ''] = word.split('=');
      if (!options.has(flag)) return `no option ${flag}`;
      value = true;
      continue;
    } else if (!value && command.commands.length > 0 && command.registeredArguments.length === 0)
      return `no command ${word}`;
    value = false;
  }
  return null;
}

/** The options that the programs behind a script read. */
function optionsOf(script: string): ReadonlySet<string> | null {
  const launcher = /infra\/local\/bin\/\S+/.exec(script)?.[0];
  if (launcher === undefined) return null;
  const programs = [...readFileSync(join(projectRoot, launcher), 'utf8').matchAll(/'([^']+\.ts)'/g)];
  return new Set(
    programs.flatMap(([, file = '']) =>
      [...readFileSync(join(projectRoot, file), 'utf8').matchAll(/'?([a-z][a-z-]*)'?: \{ type: '/g)].map(
        ([, name = '']) => name,
      ),
    ),
  );
}

const { scripts } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};
const sources = globSync(
  '{services,clients,infra,shared,load-tests}/**/*.{ts,tsx,mjs,sh,sql,tftpl,tf,yaml,json}',
  {
    cwd: projectRoot,
    exclude: (name) => /(^|\/)(node_modules|dist)(\/|$)/.test(name),
  },
).filter((name) => !name.startsWith('infra/local/src/reference/document-words'));
/** Every name that the project's own files have. */
const names = new Set(
  [...sources, '.ci/run', 'infra/images/Dockerfile'].flatMap(
    (name) => readFileSync(join(projectRoot, name), 'utf8').match(/\b[A-Za-z_]\w*\b/g) ?? [],
  ),
);
const variables = new Set([...names].filter((name) => name.startsWith('LEMNISCATE_')));
const { paths } = (await describePublicApi()) as { paths: Record<string, Record<string, unknown>> };
const known: KnownWords = {
  unknownInCommand,
  scripts: new Map(Object.entries(scripts).map(([name, script]) => [name, optionsOf(script)])),
  variables,
  // the last one is a role of the database
  metrics: new Set([...Object.keys(metricCatalogue), 'lemniscate_app']),
  routes: new Set(
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, '{}')}`),
    ),
  ),
};

test('every command, option, script, route, variable and metric that a document names is there', () => {
  const documents = readDocuments(projectRoot);
  assert.ok(documents.size > 50, `only ${documents.size} documents were read`);
  assert.ok(known.routes.size > 150 && variables.size > 90);
  const foreign = [...documents].flatMap(([name, text]) =>
    foreignWords(text, known).map((word) => `${name}: ${word}`),
  );
  assert.deepEqual(foreign, []);
});

/** Names of others. */
const ofOthers: Readonly<Record<string, string>> = {
  unprivileged_userns_clone: 'a setting of Debian’s kernel',
  OTEL_EXPORTER_OTLP_HEADERS: 'read by OpenTelemetry’s SDK',
};

test('every name of code that a document has in backquotes is in the code', () => {
  const unknown = [...readDocuments(projectRoot)].flatMap(([file, text]) =>
    namesIn(text)
      .filter((name) => !names.has(name) && ofOthers[name] === undefined)
      .map((name) => `${file}: ${name}`),
  );
  assert.deepEqual(unknown, []);
  assert.deepEqual(namesIn('`no_such_code` or `noSuchCode(x)` of `NO_SUCH`, `createNAMEThing`, no_code'), [
    'no_such_code',
    'noSuchCode',
    'NO_SUCH',
  ]);
  for (const name of ['no_such_code', 'noSuchCode', 'NO_SUCH']) assert.ok(!names.has(name));
});

test('every file of code and every room that a document names, also shortened, is there', () => {
  const files = globSync('{services,clients,infra,shared,load-tests}/**/*.{ts,tsx,mjs,tf}', {
    cwd: projectRoot,
    exclude: (name) => /(^|\/)(node_modules|dist)(\/|$)/.test(name),
  });
  const lost = [...readDocuments(projectRoot)].flatMap(([name, text]) =>
    lostFiles(text, files).map((path) => `${name}: ${path}`),
  );
  assert.deepEqual(lost, []);
  const named =
    '`nothing.ts` `reaper.ts` `jobs/reaper.ts` `jobs/sweeper.ts` `adapters/redis/` `adapters/mysql/` `NAME.ts`';
  assert.deepEqual(lostFiles(named, files), ['nothing.ts', 'jobs/sweeper.ts', 'adapters/mysql/']);
});

test('a foreign word of each kind is found', () => {
  const text = [
    'Run `lemniscate servers drian NAME`, `lemniscate audit verify --fil x`, `npm run bnech`, `npm run load -- --shrot`.',
    'See `GET /v1/sesions/:id`, `LEMNISCATE_NO_SUCH`, `LEMNISCATE_WARM_*`, `lemniscate_no_such_total`.',
    '```sh',
    'npx lemniscate run "fix it" --repo ../x --nonsense',
    '```',
  ].join('\n');
  assert.deepEqual(foreignWords(text, known), [
    'lemniscate run "fix it" --repo ../x --nonsense: no option --nonsense',
    'lemniscate servers drian NAME: no command drian',
    'lemniscate audit verify --fil x: no option --fil',
    'npm run bnech',
    'npm run load -- --shrot',
    'GET /v1/sesions/:id',
    'LEMNISCATE_NO_SUCH',
    'lemniscate_no_such_total',
  ]);
});
