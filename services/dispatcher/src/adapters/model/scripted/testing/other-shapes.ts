import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

type Files = Readonly<Record<string, string>>;

const assertAndTest = "import assert from 'node:assert/strict';\nimport { test } from 'node:test';\n";
const manyPassing = Array.from(
  { length: 400 },
  (_, index) =>
    `test('a test with a rather long name, number ${index}', () => assert.equal(half(${index * 2}), ${index}));`,
).join('\n');

/** Repositories that are laid out in another way than the sample; each has one fault. */
export const otherShapes: readonly { readonly name: string; readonly files: Files }[] = [
  {
    name: 'tests beside sources, run by a glob',
    files: {
      'package.json': '{ "type": "module", "scripts": { "test": "node --test \\"src/**/*.test.js\\"" } }',
      'src/clock.js': 'export const toMinutes = (hours) => hours * 6;\n',
      'src/clock.test.js': `${assertAndTest}import { toMinutes } from './clock.js';\ntest('two hours', () => assert.equal(toMinutes(2), 120));\n`,
    },
  },
  {
    name: 'CommonJS modules',
    files: {
      'package.json': '{ "scripts": { "test": "node --test" } }',
      'lib/stack.js':
        'class Stack {\n  constructor() {\n    this.items = [];\n  }\n  push(item) {\n    this.items.push(item);\n    return this;\n  }\n' +
        '  top() {\n    return this.items[0];\n  }\n}\nmodule.exports = { Stack };\n',
      'test/stack.test.js':
        "const assert = require('node:assert');\nconst { test } = require('node:test');\nconst { Stack } = require('../lib/stack');\n" +
        "test('the top is the last', () => {\n  assert.strictEqual(new Stack().push('a').push('b').top(), 'b');\n});\n",
    },
  },
  {
    name: 'TypeScript that node strips',
    files: {
      'package.json': '{ "type": "module", "scripts": { "test": "node --test test/*.test.ts" } }',
      'src/price.mts':
        'export interface Item {\n  readonly cents: number;\n}\n' +
        'export function dearest(items: readonly Item[]): number | undefined {\n  if (items.length === 0) return undefined;\n' +
        '  return Math.min(...items.map((item: Item): number => item.cents));\n}\n',
      'test/price.test.ts': `${assertAndTest}import { dearest } from '../src/price.mts';\ntest('the dearest', () => {\n  assert.equal(dearest([{ cents: 3 }, { cents: 9 }]), 9);\n});\n`,
    },
  },
  {
    name: 'a suite that says too much',
    files: {
      'package.json': '{ "type": "module", "scripts": { "test": "node --test" } }',
      'src/half.mjs':
        'export const half = (number) => number / 2;\nexport const shout = (text) => `${text.toLowerCase()}!`;\n',
      'test/many.test.mjs': `${assertAndTest}import { half } from '../src/half.mjs';\n${manyPassing}\n`,
      'test/shout.test.mjs': `${assertAndTest}import { shout } from '../src/half.mjs';\ntest('shouts', () => assert.equal(shout('ho'), 'HO!'));\n`,
    },
  },
];

/** Writes a repository. */
export async function layFiles(folder: string, files: Files): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
}
