import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createInvoice } from '../src/invoice.js';
import { createLine } from '../src/line.js';

test('an invoice adds up discount, tax and total', () => {
  const invoice = createInvoice('2026-001', '2026-03-03', [
    createLine('pens', 60, 150),
    createLine('bread', 4, 320, 'food'),
    createLine('atlas', 1, 2490, 'book'),
  ]);
  assert.equal(invoice.discountCents, 900);
  assert.equal(invoice.netCents, 11870);
  assert.equal(invoice.taxCents, 1684);
  assert.equal(invoice.totalCents, 13554);
  assert.equal(invoice.due, '2026-04-02');
});
