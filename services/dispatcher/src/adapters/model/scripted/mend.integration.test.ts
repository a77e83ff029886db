import assert from 'node:assert/strict';
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadScripts } from './load-scripts.ts';
import { createScriptedProvider } from './scripted-provider.ts';
import { runAgentLoop } from './testing/agent-loop.ts';
import type { ModelProvider } from '../../../application/ports/model-provider.ts';

const sample = fileURLToPath(new URL('./fixtures/sample/', import.meta.url));

/** A fault: in `file`, the first `from` becomes `to`. */
interface Fault {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

const faults: readonly Fault[] = [
  { file: 'cart', from: 'item.price * item.quantity', to: 'item.price + item.quantity' },
  { file: 'cart', from: 'amount >= freeShippingFrom', to: 'amount > freeShippingFrom' },
  { file: 'cart', from: 'amount - (amount', to: 'amount + (amount' },
  { file: 'cart', from: 'shippingFee = 4.9', to: 'shippingFee = 5.9' },
  { file: 'cart', from: 'a.price - b.price', to: 'b.price - a.price' },
  { file: 'cart', from: '&& !item.hidden', to: '&& item.hidden' },
  { file: 'cart', from: 'percent < 0 || percent > 100', to: 'percent < 0 && percent > 100' },
  {
    file: 'cart',
    from: '/ 100);\n}\n\nexport function shipping',
    to: '/ 10);\n}\n\nexport function shipping',
  },
  { file: 'money', from: 'Math.round(', to: 'Math.floor(' },
  { file: 'money', from: 'toFixed(2)', to: 'toFixed(1)' },
  { file: 'slug', from: "separator = '-'", to: "separator = '_'" },
  { file: 'slug', from: '.toLowerCase()', to: '.toUpperCase()' },
  { file: 'slug', from: 'slice(0, maxLength)', to: 'slice(0, maxLength - 1)' },
  { file: 'slug', from: 'let number = 2', to: 'let number = 1' },
  { file: 'slug', from: 'if (!taken.includes(slug))', to: 'if (taken.includes(slug))' },
  { file: 'slug', from: '+/g, separator', to: '+/, separator' },
  { file: 'date-range', from: '/ day) + 1', to: '/ day)' },
  { file: 'date-range', from: '/ day) + 1', to: '/ day) - 1' },
  { file: 'date-range', from: '(end - start)', to: '(start - end)' },
  { file: 'date-range', from: 'a.start <= b.end', to: 'a.start < b.end' },
  { file: 'date-range', from: 'a.start <= b.end &&', to: 'a.start <= b.end ||' },
  { file: 'date-range', from: 'weekday === 6', to: 'weekday === 5' },
  { file: 'date-range', from: 'date.getUTCDate()', to: 'date.getUTCDay()' },
  { file: 'date-range', from: 'padStart(2', to: 'padEnd(2' },
  { file: 'date-range', from: 'b.start <= a.end', to: 'b.end <= a.end' },
  { file: 'queue', from: '#items.push(item)', to: '#items.unshift(item)' },
  { file: 'queue', from: '#items.shift()', to: '#items.pop()' },
  { file: 'queue', from: '>= this.#bound', to: '> this.#bound' },
  { file: 'queue', from: '.every(predicate)', to: '.some(predicate)' },
  { file: 'queue', from: 'this.#items.length - 1]', to: 'this.#items.length]' },
  { file: 'queue', from: ': null;', to: ': undefined;' },
  { file: 'queue', from: 'return true', to: 'return false' },
  { file: 'text-wrap', from: 'candidate.length <= width', to: 'candidate.length < width' },
  { file: 'text-wrap', from: "text.split(' ')", to: "text.split('')" },
  {
    file: 'text-wrap',
    from: "if (line !== '') lines.push(line);\n    line",
    to: "if (line === '') lines.push(line);\n    line",
  },
  { file: 'text-wrap', from: 'depth * 2', to: 'depth * 3' },
  {
    file: 'text-wrap',
    from: "+ (words.length > count ? '…' : '')",
    to: "+ (words.length > count ? '' : '…')",
  },
  { file: 'text-wrap', from: ".join(' ') + (", to: ".join('') + (" },
];

const title = (fault: Fault): string => `${fault.file}: ${fault.from} → ${fault.to}`.replaceAll('\n', '⏎');

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

  async function plant(name: string, planted: readonly Fault[]): Promise<string> {
    const folder = join(root, name);
    await cp(sample, folder, { recursive: true });
    for (const fault of planted) {
      const path = join(folder, 'src', `${fault.file}.js`);
      const text = await readFile(path, 'utf8');
      assert.ok(text.includes(fault.from), `the fixture has no ${fault.from}`);
      await writeFile(
        path,
        text.replace(fault.from, () => fault.to),
      );
    }
    return folder;
  }

  for (const [index, fault] of faults.entries()) {
    it(`mends ${title(fault)}`, async (context) => {
      const folder = await plant(`fault-${index}`, [fault]);
      const faulty = await readAll(folder);
      const result = await runAgentLoop(provider, folder, 'Fix the failing test');
      const mended = await readAll(folder);
      const changed = Object.keys(mended).filter((path) => mended[path] !== faulty[path]);
      const tries = result.calls.filter((call) => call.tool === 'edit_file').length;
      context.diagnostic(`edits ${tries}, calls ${result.calls.length}`);
      assert.match(result.closing, /^All 21 tests pass now\. I changed/);
      assert.deepEqual(changed, [`src/${fault.file}.js`]);
    });
  }
});
