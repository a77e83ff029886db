import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const sample = fileURLToPath(new URL('../fixtures/sample/', import.meta.url));

/** A fault: in `src/FILE.js` the first `from` becomes `to`. */
export interface PlantedFault {
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** Mended through a whole agent loop as well; the others are only looked for among the candidates. */
  readonly endToEnd?: true;
}

export const plantedFaults: readonly PlantedFault[] = [
  { file: 'cart', from: 'item.price * item.quantity', to: 'item.price + item.quantity' },
  { endToEnd: true, file: 'cart', from: 'amount >= freeShippingFrom', to: 'amount > freeShippingFrom' },
  { file: 'cart', from: 'amount - (amount', to: 'amount + (amount' },
  { endToEnd: true, file: 'cart', from: 'shippingFee = 4.9', to: 'shippingFee = 5.9' },
  { endToEnd: true, file: 'cart', from: 'a.price - b.price', to: 'b.price - a.price' },
  { endToEnd: true, file: 'cart', from: '&& !item.hidden', to: '&& item.hidden' },
  { endToEnd: true, file: 'cart', from: 'percent < 0 || percent > 100', to: 'percent < 0 && percent > 100' },
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
  { endToEnd: true, file: 'slug', from: 'let number = 2', to: 'let number = 1' },
  { file: 'slug', from: 'if (!taken.includes(slug))', to: 'if (taken.includes(slug))' },
  { file: 'slug', from: '+/g, separator', to: '+/, separator' },
  { file: 'date-range', from: '/ day) + 1', to: '/ day)' },
  { file: 'date-range', from: '/ day) + 1', to: '/ day) - 1' },
  { file: 'date-range', from: '(end - start)', to: '(start - end)' },
  { endToEnd: true, file: 'date-range', from: 'a.start <= b.end', to: 'a.start < b.end' },
  { file: 'date-range', from: 'a.start <= b.end &&', to: 'a.start <= b.end ||' },
  { file: 'date-range', from: 'weekday === 6', to: 'weekday === 5' },
  { file: 'date-range', from: 'date.getUTCDate()', to: 'date.getUTCDay()' },
  { endToEnd: true, file: 'date-range', from: 'padStart(2', to: 'padEnd(2' },
  { file: 'date-range', from: 'b.start <= a.end', to: 'b.end <= a.end' },
  { file: 'queue', from: '#items.push(item)', to: '#items.unshift(item)' },
  { endToEnd: true, file: 'queue', from: '#items.shift()', to: '#items.pop()' },
  { endToEnd: true, file: 'queue', from: '>= this.#bound', to: '> this.#bound' },
  { endToEnd: true, file: 'queue', from: '.every(predicate)', to: '.some(predicate)' },
  { endToEnd: true, file: 'queue', from: 'this.#items.length - 1]', to: 'this.#items.length]' },
  { endToEnd: true, file: 'queue', from: ': null;', to: ': undefined;' },
  { file: 'queue', from: 'return true', to: 'return false' },
  { endToEnd: true, file: 'text-wrap', from: 'candidate.length <= width', to: 'candidate.length < width' },
  { file: 'text-wrap', from: "text.split(' ')", to: "text.split('')" },
  {
    file: 'text-wrap',
    from: "if (line !== '') lines.push(line);\n    line",
    to: "if (line === '') lines.push(line);\n    line",
  },
  { endToEnd: true, file: 'text-wrap', from: 'depth * 2', to: 'depth * 3' },
  {
    file: 'text-wrap',
    from: "+ (words.length > count ? '…' : '')",
    to: "+ (words.length > count ? '' : '…')",
  },
  { file: 'text-wrap', from: ".join(' ') + (", to: ".join('') + (" },
];

/** Lays the sample into a folder and plants faults in it. @throws Error when the sample has no such text */
export async function plantFaults(folder: string, faults: readonly PlantedFault[]): Promise<void> {
  await cp(sample, folder, { recursive: true });
  for (const fault of faults) {
    const path = join(folder, 'src', `${fault.file}.js`);
    const text = await readFile(path, 'utf8');
    if (!text.includes(fault.from)) throw new Error(`${path} has no ${fault.from}`);
    await writeFile(
      path,
      text.replace(fault.from, () => fault.to),
    );
  }
}

/** A fault in one line, for a test's name. */
export function faultTitle(fault: PlantedFault): string {
  return `${fault.file}: ${fault.from} → ${fault.to}`.replaceAll('\n', '⏎');
}
