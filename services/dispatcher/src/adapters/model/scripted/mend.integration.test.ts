import assert from 'node:assert/strict';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { loadScripts } from './load-scripts.ts';
import { createScriptedProvider } from './scripted-provider.ts';
import { runAgentLoop } from './testing/agent-loop.ts';
import { layFiles, otherShapes } from './testing/other-shapes.ts';
import { faultTitle, plantFaults, plantedFaults } from './testing/planted-faults.ts';
import type { PlantedFault } from './testing/planted-faults.ts';
import type { ModelProvider } from '../../../application/ports/model-provider.ts';

async function readAll(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const texts = await Promise.all(
    files.map(async (entry) => {
      const path = join(entry.parentPath, entry.name);
      return [path.slice(folder.length + 1), await readFile(path, 'utf8')] as const;
    }),
  );
  return Object.fromEntries(texts);
}

describe('the scripted model against real files and real test runs', () => {
  let root: string;
  let provider: ModelProvider;
  let exchange = 0;

  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'lemniscate-mend-'));
    provider = createScriptedProvider({ newId: () => `x${(exchange += 1)}`, scripts: await loadScripts() });
  });
  after(() => rm(root, { recursive: true, force: true }));

  async function plant(name: string, planted: readonly PlantedFault[]): Promise<string> {
    const folder = join(root, name);
    await plantFaults(folder, planted);
    return folder;
  }

  for (const [index, fault] of plantedFaults.filter((one) => one.endToEnd).entries()) {
    it(`mends ${faultTitle(fault)}`, async (context) => {
      const folder = await plant(`fault-${index}`, [fault]);
      const faulty = await readAll(folder);
      const result = await runAgentLoop(provider, folder, 'Fix the failing test');
      const mended = await readAll(folder);
      const changed = Object.keys(mended).filter((path) => mended[path] !== faulty[path]);
      const tries = result.calls.filter((call) => call.tool === 'edit_file').length;
      context.diagnostic(`edits ${tries}, calls ${result.calls.length}`);
      assert.match(result.closing, /^All \d+ tests pass now\. I changed/);
      assert.deepEqual(changed, [`src/${fault.file}.js`]);
      assert.ok(tries <= 5, `${tries} edits`);
    });
  }

  it('mends a fault beside the one that the invoices ship with', async () => {
    const folder = await plant('shipped', [
      { in: 'invoices', file: 'discount', from: 'quantity >= from', to: 'quantity > from' },
      { in: 'invoices', file: 'due-date', from: 'days * dayMs', to: 'days + dayMs' },
    ]);
    const result = await runAgentLoop(provider, folder, 'Fix the failing test');
    assert.match(result.closing, /All 11 tests pass now/);
    assert.ok(result.calls.length <= 30, `${result.calls.length} calls`);
  });

  it('mends two faults that one test sees one after the other', async () => {
    const folder = await plant('one-test', [
      { file: 'date-range', from: 'weekday === 6', to: 'weekday === 5' },
      { file: 'date-range', from: 'weekday === 0', to: 'weekday === 1' },
    ]);
    const result = await runAgentLoop(provider, folder, 'Fix the failing test');
    assert.match(result.closing, /All 21 tests pass now/);
  });

  it('mends two faults one after the other and keeps both repairs', async () => {
    const folder = await plant('two-faults', [
      { file: 'queue', from: '#items.shift()', to: '#items.pop()' },
      { file: 'text-wrap', from: 'depth * 2', to: 'depth * 3' },
    ]);
    const result = await runAgentLoop(provider, folder, 'Make the failing tests pass, please.');
    assert.match(result.closing, /All 21 tests pass now/);
    assert.match(result.closing, /src\/queue\.js/);
    assert.match(result.closing, /src\/text-wrap\.js/);
  });

  it('leaves a fault that it cannot mend as it was, and says what it tried', async () => {
    const folder = join(root, 'too-much');
    await layFiles(folder, {
      'package.json': '{ "type": "module", "scripts": { "test": "node --test" } }',
      'src/pick.js': 'export const pick = (list) => list.length;\n',
      'test/pick.test.js':
        "import assert from 'node:assert/strict';\nimport { test } from 'node:test';\n" +
        "import { pick } from '../src/pick.js';\n" +
        "test('picks', () => assert.deepEqual(pick([1]), { nobody: 'can guess', this: [4, 2] }));\n",
    });
    const before = await readAll(folder);
    const result = await runAgentLoop(provider, folder, 'Fix the failing test');
    assert.match(result.closing, /I tried \d+ small repairs and none of them helped.*The last lines/s);
    assert.ok(result.calls.length < 150);
    assert.deepEqual(await readAll(folder), before);
  });

  for (const { name, files } of otherShapes) {
    it(`mends ${name}`, async () => {
      const folder = join(root, name.replaceAll(' ', '-'));
      await layFiles(folder, files);
      const result = await runAgentLoop(provider, folder, 'Fix the failing test');
      assert.match(result.closing, /^All \d+ tests pass now\. I changed/);
    });
  }

  const untouched: readonly (readonly [string, string, Readonly<Record<string, string>>, RegExp])[] = [
    ['a green project', 'Fix the failing test', {}, /All 21 tests pass already/],
    ['another instruction', 'Write a poem about queues', {}, /headed “Corner shop”.*changed nothing/s],
    [
      'a project with another test script',
      'Fix the failing test',
      { 'package.json': '{"scripts":{"test":"jest"}}' },
      /run with jest.*changed nothing/s,
    ],
    ['a broken manifest', 'Fix the failing test', { 'package.json': '{' }, /changed nothing/],
  ];
  for (const [name, instruction, files, closing] of untouched) {
    it(`changes nothing in ${name}`, async () => {
      const folder = await plant(name.replaceAll(' ', '-'), []);
      for (const [path, text] of Object.entries(files)) await writeFile(join(folder, path), text);
      const before = await readAll(folder);
      const result = await runAgentLoop(provider, folder, instruction);
      assert.match(result.closing, closing);
      assert.deepEqual(await readAll(folder), before);
      assert.ok(result.calls.every((call) => !/edit|write/.test(call.tool)));
    });
  }

  it('looks at a repository in another language and at an empty one', async () => {
    const python = await mkdtemp(join(root, 'python-'));
    await writeFile(join(python, 'README.md'), '# Weather station\n');
    await writeFile(join(python, 'pyproject.toml'), '[project]\nname = "weather"\n');
    const seen = await runAgentLoop(provider, python, 'Fix the failing test');
    assert.match(seen.closing, /“Weather station”, and pyproject\.toml/);
    const empty = await mkdtemp(join(root, 'empty-'));
    assert.match((await runAgentLoop(provider, empty, 'Fix the failing test')).closing, /holds no files/);
  });

  it('gives exchanges ids of their own and token counts that grow with the conversation', async () => {
    const folder = await plant('usage', [{ file: 'queue', from: '>= this.#bound', to: '> this.#bound' }]);
    const { messages } = await runAgentLoop(provider, folder, 'Fix the failing test');
    assert.equal(new Set(messages.map((message) => message.id)).size, messages.length);
    const prompts = messages.map(({ usage }) =>
      ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'].reduce(
        (sum, name) => sum + Number(usage[name]),
        0,
      ),
    );
    assert.deepEqual(
      prompts,
      [...prompts].sort((left, right) => left - right),
    );
    assert.ok(messages.slice(1).every(({ usage }) => Number(usage['cache_read_input_tokens']) > 0));
  });
});
