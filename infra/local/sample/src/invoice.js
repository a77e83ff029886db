import { discountPercent } from './discount.js';
import { dueDate } from './due-date.js';
import { lineCents } from './line.js';
import { roundCents, sumCents } from './money.js';
import { taxPercent } from './tax.js';

/** Adds up an invoice: what the lines cost, what the discount takes off, the tax on the rest, and the total. */
export function createInvoice(number, date, lines) {
  const nets = lines.map((line) => lineCents(line) - lineDiscountCents(line));
  const taxes = lines.map((line, index) => roundCents((nets[index] * taxPercent(line.kind)) / 100));
  const discountCents = sumCents(lines.map(lineDiscountCents));
  const netCents = sumCents(nets);
  const taxCents = sumCents(taxes);
  return {
    number,
    date,
    due: dueDate(date),
    discountCents,
    netCents,
    taxCents,
    totalCents: netCents + taxCents,
  };
}

function lineDiscountCents(line) {
  return roundCents((lineCents(line) * discountPercent(line.quantity)) / 100);
}
