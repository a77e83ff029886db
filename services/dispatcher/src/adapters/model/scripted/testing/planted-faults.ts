import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const samples = {
  sample: fileURLToPath(new URL('../fixtures/sample/', import.meta.url)),
  // The repository that a local fleet starts with, without the fault that it ships with.
  invoices: fileURLToPath(new URL('../fixtures/invoices/', import.meta.url)),
};

/** A fault: in `src/FILE.js` the first `from` becomes `to`. */
export interface PlantedFault {
  /** The repository; `sample` when it is not said. */
  readonly in?: 'invoices';
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** Mended through a whole agent loop as well; the others are only looked for among the candidates. */
  readonly endToEnd?: true;
}

export const plantedFaults: readonly PlantedFault[] = [
  { file: 'cart', from: 'item.price * item.quantity', to: 'item.price + item.quantity' },
  { file: 'cart', from: 'amount >= freeShippingFrom', to: 'amount > freeShippingFrom' },
  { file: 'cart', from: 'amount - (amount', to: 'amount + (amount' },
  { file: 'cart', from: 'shippingFee = 4.9', to: 'shippingFee = 5.9' },
  { endToEnd: true, file: 'cart', from: 'a.price - b.price', to: 'b.price - a.price' },
  { file: 'cart', from: '&& !item.hidden', to: '&& item.hidden' },
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
  { file: 'slug', from: 'let number = 2', to: 'let number = 1' },
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
  { file: 'queue', from: '>= this.#bound', to: '> this.#bound' },
  { file: 'queue', from: '.every(predicate)', to: '.some(predicate)' },
  { endToEnd: true, file: 'queue', from: 'this.#items.length - 1]', to: 'this.#items.length]' },
  { file: 'queue', from: ': null;', to: ': undefined;' },
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
  { in: 'invoices', file: 'discount', from: '>= from', to: '> from' },
  { in: 'invoices', file: 'discount', from: '>= from', to: '< from' },
  { in: 'invoices', file: 'discount', from: 'percent: 15', to: 'percent: 16' },
  { in: 'invoices', file: 'discount', from: 'percent: 10 ', to: 'percent: 20 ' },
  { in: 'invoices', file: 'discount', from: 'fromQuantity: 50', to: 'fromQuantity: 60' },
  { in: 'invoices', file: 'discount', from: '? 0 :', to: '? 1 :' },
  { in: 'invoices', file: 'discount', from: 'steps.find(', to: 'steps.findLast(' },
  { in: 'invoices', file: 'discount', from: 'step.percent', to: 'step.fromQuantity' },
  { in: 'invoices', file: 'tax', from: 'standard: 20', to: 'standard: 21', endToEnd: true },
  { in: 'invoices', file: 'tax', from: 'standard: 20', to: 'standard: 2' },
  { in: 'invoices', file: 'tax', from: 'food: 5', to: 'food: 7' },
  { in: 'invoices', file: 'tax', from: 'rate === undefined', to: 'rate !== undefined' },
  { in: 'invoices', file: 'tax', from: 'return rate;', to: 'return kind;' },
  { in: 'invoices', file: 'money', from: 'Math.round', to: 'Math.floor' },
  { in: 'invoices', file: 'money', from: 'Math.abs(amount))', to: 'amount)' },
  { in: 'invoices', file: 'money', from: 'cents < 0', to: 'cents > 0' },
  { in: 'invoices', file: 'money', from: "? '-' : ''", to: "? '' : '-'" },
  { in: 'invoices', file: 'money', from: 'padStart(3', to: 'padStart(2' },
  { in: 'invoices', file: 'money', from: 'slice(0, -2)', to: 'slice(0, -1)' },
  { in: 'invoices', file: 'money', from: "','", to: "'.'" },
  { in: 'invoices', file: 'money', from: 'total + amount', to: 'total - amount' },
  { in: 'invoices', file: 'money', from: '/g', to: '/' },
  { in: 'invoices', file: 'money', from: 'return amounts', to: 'amounts' },
  { in: 'invoices', file: 'line', from: '!Number.isInteger(quantity)', to: 'Number.isInteger(quantity)' },
  { in: 'invoices', file: 'line', from: 'line.quantity * line', to: 'line.quantity + line' },
  { in: 'invoices', file: 'line', from: "'standard'", to: "'food'" },
  { in: 'invoices', file: 'line', from: 'unitCents, kind }', to: 'kind }' },
  {
    in: 'invoices',
    file: 'line',
    from: 'goods, quantity, unitCents, kind =',
    to: 'goods, unitCents, quantity, kind =',
  },
  { in: 'invoices', file: 'invoice', from: 'netCents + taxCents', to: 'netCents - taxCents', endToEnd: true },
  { in: 'invoices', file: 'invoice', from: 'lineCents(line) - line', to: 'lineCents(line) + line' },
  { in: 'invoices', file: 'invoice', from: 'nets[index] * tax', to: 'nets[index] + tax' },
  { in: 'invoices', file: 'invoice', from: 'sumCents(nets)', to: 'sumCents(taxes)' },
  { in: 'invoices', file: 'invoice', from: 'dueDate(date)', to: 'date' },
  { in: 'invoices', file: 'invoice', from: '    discountCents,\n', to: '' },
  { in: 'invoices', file: 'invoice', from: 'taxPercent(line.kind)', to: 'taxPercent(line.goods)' },
  { in: 'invoices', file: 'invoice', from: '  return roundCents((', to: '  roundCents((' },
  { in: 'invoices', file: 'due-date', from: '=== 6', to: '=== 5', endToEnd: true },
  { in: 'invoices', file: 'due-date', from: '=== 0', to: '=== 1' },
  { in: 'invoices', file: 'due-date', from: 'days * dayMs', to: 'days + dayMs' },
  { in: 'invoices', file: 'due-date', from: 'days = 30', to: 'days = 14' },
  { in: 'invoices', file: 'due-date', from: '|| date', to: '&& date' },
  { in: 'invoices', file: 'due-date', from: 'while (isWeekend', to: 'if (isWeekend' },
  { in: 'invoices', file: 'due-date', from: 'slice(0, 10)', to: 'slice(0, 9)' },
  { in: 'invoices', file: 'due-date', from: '24 * 60', to: '12 * 60' },
];

/** Lays the sample into a folder and plants faults in it. @throws Error when the sample has no such text */
export async function plantFaults(folder: string, faults: readonly PlantedFault[]): Promise<void> {
  await cp(samples[faults[0]?.in ?? 'sample'], folder, { recursive: true });
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
