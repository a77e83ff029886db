import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importFault } from './gate/import-rules.ts';
import { importsOf, readImports, sourceFiles, workspaceFolders } from './gate/source-imports.ts';
import { projectRoot } from './project-root.ts';

test('every import goes in an allowed direction', () => {
  const files = sourceFiles(projectRoot);
  const imports = files.flatMap((file) => readImports(projectRoot, file));
  assert.ok(files.length > 50, `only ${files.length} source files were read`);
  assert.ok(imports.filter(({ target }) => target !== undefined).length > 50, 'hardly an import was found');
  for (const folder of ['shared', 'services/dispatcher', 'services/agent-server', 'infra/local'])
    assert.ok(
      files.some((file) => file.startsWith(`${folder}/`)),
      `no file of ${folder} was read`,
    );
  const faults = imports.flatMap((one) => {
    const fault = importFault(one);
    return fault === undefined ? [] : [`${one.file} imports ${one.specifier}: ${fault}`];
  });
  assert.deepEqual(faults, []);
});

test('every shape of import is found', () => {
  const text = [
    `import type { A } from './a.ts';`,
    `import {\n  b,\n  c,\n} from './b.ts';`,
    `import './c.ts';`,
    `export { d } from './d.ts';`,
    `const e = await import('./e.ts');`,
  ].join('\n');
  assert.deepEqual(importsOf(text), ['./a.ts', './b.ts', './c.ts', './d.ts', './e.ts']);
});

const service = 'services/dispatcher/src';
const wrongImports: [file: string, specifier: string, target: string | undefined, fault: RegExp][] = [
  ['shared/src/a.ts', 'node:fs', undefined, /shared is pure/],
  ['shared/src/a.ts', '@lemniscate/dispatcher/main.ts', `${service}/main.ts`, /must not know/],
  [
    `${service}/http/a.ts`,
    '@lemniscate/agent-server/b.ts',
    'services/agent-server/src/b.ts',
    /must not know/,
  ],
  [`${service}/application/a.ts`, '../adapters/b.ts', `${service}/adapters/b.ts`, /must not import adapters/],
  [`${service}/http/a.ts`, '../adapters/b.ts', `${service}/adapters/b.ts`, /must not import adapters/],
  [`${service}/domain/a.ts`, '../application/b.ts', `${service}/application/b.ts`, /must not import/],
  [`${service}/adapters/a.ts`, '../http/b.ts', `${service}/http/b.ts`, /must not import http/],
  [`${service}/http/a.ts`, '../main.ts', `${service}/main.ts`, /main\.ts/],
  [`${service}/http/a.ts`, '../../../../shared/src/b.ts', 'shared/src/b.ts', /by its package name/],
  ['clients/cli/src/a.ts', '@lemniscate/dispatcher/b.ts', `${service}/b.ts`, /must not know/],
];

for (const [file, specifier, target, expected] of wrongImports)
  test(`refused: ${file} imports ${specifier}`, () => {
    assert.match(importFault({ file, specifier, target }) ?? 'allowed', expected);
  });

test('the workspaces of the rules are those of the manifest', async () => {
  const { default: manifest } = await import('../../../package.json', { with: { type: 'json' } });
  assert.deepEqual(Object.keys(workspaceFolders).sort(), [...manifest.workspaces].sort());
});
