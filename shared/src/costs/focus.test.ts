import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { csvLine } from './csv.ts';
import { focusBuckets, focusColumns, toFocusRow } from './focus.ts';
import type { FocusCharge } from './focus.ts';

const charge: FocusCharge = {
  sessionId: 's_1',
  day: '2026-12-31',
  project: 'shop',
  agent: 'default',
  user: 'ada',
  runtime: 'native',
  repository: 'https://example.org/shop.git',
  provider: 'anthropic',
  model: 'claude-sonnet-5',
  costCentre: 'CC-7',
  priceBook: 'book-1',
  kind: 'usage',
  bucket: 'output',
  quantity: '1500',
  usd: '0.0225',
  complete: true,
  unpriced: false,
};
const account = { id: 'acme', name: 'Acme' };
const rowOf = (more: Partial<FocusCharge>): Record<string, string | null> =>
  Object.fromEntries(
    toFocusRow({ ...charge, ...more }, account).map((value, index) => [focusColumns[index]?.name, value]),
  );

/** The columns that FOCUS 1.2 makes mandatory, with whether the specification allows null. */
const mandatory: Readonly<Record<string, boolean>> = {
  BilledCost: false,
  BillingAccountId: false,
  BillingAccountName: true,
  BillingCurrency: false,
  BillingPeriodEnd: false,
  BillingPeriodStart: false,
  ChargeCategory: false,
  ChargeClass: true,
  ChargeDescription: true,
  ChargePeriodEnd: false,
  ChargePeriodStart: false,
  ContractedCost: false,
  EffectiveCost: false,
  InvoiceIssuerName: false,
  ListCost: false,
  PricingQuantity: true,
  PricingUnit: true,
  ProviderName: false,
  PublisherName: false,
  ServiceCategory: false,
  ServiceName: false,
};

const forms = {
  decimal: /^-?\d+(\.\d+)?$/,
  time: /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/,
  text: /\S/,
  json: /^\{.*\}$/,
} as const;

describe('FOCUS 1.2', () => {
  for (const [name, nullable] of Object.entries(mandatory))
    test(`${name} is there`, () => {
      const column = focusColumns.find((one) => one.name === name);
      assert.ok(column !== undefined);
      // A column may be stricter than the specification, never looser.
      assert.ok(nullable || !column.nullable);
    });

  const variants: readonly Partial<FocusCharge>[] = [
    ...focusBuckets.map((bucket) => ({
      bucket,
      kind: bucket === 'compute' ? ('compute' as const) : ('usage' as const),
    })),
    { kind: 'correction', usd: '-0.5' },
    { kind: 'amendment', usd: '-0.5' },
    { costCentre: '', priceBook: '', complete: false },
    { usd: '0', unpriced: true },
  ];
  for (const variant of variants)
    test(`every column has its type and allowed values: ${JSON.stringify(variant)}`, () => {
      const row = rowOf(variant);
      for (const { name, type, nullable, allowed } of focusColumns) {
        const value = row[name] ?? null;
        if (value === null) assert.ok(nullable, `${name} is null`);
        else {
          assert.match(value, forms[type], name);
          assert.ok(allowed?.includes(value) ?? true, `${name} is ${value}`);
        }
      }
    });

  for (const variant of variants)
    test(`nulls are where the specification has them: ${JSON.stringify(variant)}`, () => {
      const row = rowOf(variant);
      const isNull = (name: string): boolean => (row[name] ?? null) === null;
      const isCorrection = row['ChargeClass'] === 'Correction';
      // "MUST NOT be null when ChargeCategory is Usage and ChargeClass is not Correction"
      for (const name of ['PricingQuantity', 'ConsumedQuantity', 'PricingCategory'])
        assert.ok(isCorrection || !isNull(name), `${name} is null`);
      // "MUST be null when the quantity is null, MUST NOT be null when it is not"
      assert.equal(isNull('PricingUnit'), isNull('PricingQuantity'));
      assert.equal(isNull('ConsumedUnit'), isNull('ConsumedQuantity'));
      // Without unit prices all costs of a charge that follows from no other one are the billed one.
      for (const name of ['ContractedCost', 'EffectiveCost', 'ListCost'])
        assert.equal(row[name], row['BilledCost']);
      // A service has one category, and a subcategory one parent.
      const isCompute = row['ServiceCategory'] === 'Compute';
      assert.equal(row['ServiceSubcategory'], isCompute ? 'Containers' : 'Generative AI');
      assert.equal(row['ServiceName'], isCompute ? 'Lemniscate agent servers' : 'anthropic models');
    });

  test('what is put right in its own month is an ordinary charge without consumption', () => {
    const row = rowOf({ kind: 'amendment', usd: '-0.5' });
    assert.deepEqual(
      [row['ChargeClass'], row['BilledCost'], row['PricingQuantity'], row['PricingUnit']],
      [null, '-0.5', '0', '1000000 Tokens'],
    );
    assert.deepEqual([row['ConsumedQuantity'], row['ConsumedUnit']], ['0', 'Tokens']);
  });

  test('names are unique, in Pascal case, and our own begin with x_', () => {
    const names = focusColumns.map(({ name }) => name);
    assert.equal(new Set(names).size, names.length);
    for (const name of names) assert.match(name, /^(x_)?[A-Z][A-Za-z]*$/);
  });

  test('periods: the charge is inside its month, and the end is exclusive', () => {
    const row = rowOf({});
    assert.deepEqual(
      [row['BillingPeriodStart'], row['BillingPeriodEnd'], row['ChargePeriodStart'], row['ChargePeriodEnd']],
      ['2026-12-01T00:00:00Z', '2027-01-01T00:00:00Z', '2026-12-31T00:00:00Z', '2027-01-01T00:00:00Z'],
    );
  });

  test('a correction has money and no quantity', () => {
    const row = rowOf({ kind: 'correction', usd: '-0.5' });
    assert.deepEqual(
      [row['ChargeClass'], row['BilledCost'], row['PricingQuantity'], row['PricingUnit']],
      ['Correction', '-0.5', null, null],
    );
  });

  test('tags tell whose it is, without what is not known', () => {
    const tagsOf = (more: Partial<FocusCharge>): unknown => JSON.parse(rowOf(more)['Tags'] ?? '');
    const known = { project: 'shop', agent: 'default', user: 'ada', runtime: 'native' };
    assert.deepEqual(tagsOf({}), {
      ...known,
      repository: 'https://example.org/shop.git',
      cost_centre: 'CC-7',
    });
    assert.deepEqual(tagsOf({ repository: '', costCentre: '' }), known);
  });

  test('what has no price does not look complete and free', () => {
    const toldBy = (more: Partial<FocusCharge>): unknown[] => {
      const row = rowOf(more);
      return ['BilledCost', 'x_Complete', 'x_Unpriced'].map((name) => row[name]);
    };
    assert.deepEqual(toldBy({ usd: '0', unpriced: true }), ['0', 'false', 'true']);
    assert.deepEqual(toldBy({ complete: false }), ['0.0225', 'false', 'false']);
    assert.deepEqual(toldBy({}), ['0.0225', 'true', 'false']);
  });

  test('quantities are in their units', () => {
    const row = rowOf({});
    assert.deepEqual(
      [row['ConsumedQuantity'], row['ConsumedUnit'], row['PricingQuantity'], row['PricingUnit']],
      ['1500', 'Tokens', '0.0015', '1000000 Tokens'],
    );
    assert.equal(rowOf({ kind: 'compute', bucket: 'compute', quantity: '1800' })['PricingQuantity'], '0.5');
  });
});

test('CSV: quotes, lines and what a spreadsheet would run', () => {
  assert.equal(csvLine(['a,b', 'say "x"', null, 3, '-1.5']), '"a,b","say ""x""",,3,-1.5\r\n');
  assert.equal(
    csvLine(['=HYPERLINK("x")', '-cmd', '@x', '+1+1']),
    `"'=HYPERLINK(""x"")",'-cmd,'@x,'+1+1\r\n`,
  );
});
