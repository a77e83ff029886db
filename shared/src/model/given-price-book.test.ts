import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readGivenPriceBook } from './given-price-book.ts';

const good = { input: 1, output: 2 };

describe('a faulty price book is refused with the place', () => {
  const faults: readonly (readonly [string, unknown])[] = [
    ['prices', 'text'],
    ['prices', null],
    ['prices.currency', { currency: 'EUR', models: {} }],
    ['prices.models', {}],
    ['prices.models', { models: [] }],
    ['prices.models.m', { models: { m: 5 } }],
    ['prices.models.m.perMTok', { models: { m: {} } }],
    ['prices.models.m.perMTok.input', { models: { m: { perMTok: { output: 1 } } } }],
    ['prices.models.m.perMTok.output', { models: { m: { perMTok: { input: 1 } } } }],
    ['prices.models.m.perMTok.input', { models: { m: { perMTok: { ...good, input: -1 } } } }],
    ['prices.models.m.perMTok.input', { models: { m: { perMTok: { ...good, input: '-0.5' } } } }],
    ['prices.models.m.perMTok.input', { models: { m: { perMTok: { ...good, input: 'free' } } } }],
    ['prices.models.m.perMTok.input', { models: { m: { perMTok: { ...good, input: '1e' } } } }],
    ['prices.models.m.perMTok.input', { models: { m: { perMTok: { ...good, input: '1e999' } } } }],
    ['prices.models.m.perMTok.input', { models: { m: { perMTok: { ...good, input: 1e300 } } } }],
    ['prices.models.m.perMTok.input', { models: { m: { perMTok: { ...good, input: '0x10' } } } }],
    ...[
      [{ perMTok: good }],
      [{ perMTok: good }, { perMTok: good }],
      [{ above: 5, from: 5, perMTok: good }],
      [{ above: 5, upTo: 5, perMTok: good }],
    ].map((tiers) => [`prices.models.m.tiers[0]`, { models: { m: { perMTok: good, tiers } } }] as const),
    [
      'prices.models.m.tiers[1]',
      {
        models: {
          m: {
            perMTok: good,
            tiers: [
              { above: 5, perMTok: good },
              { from: 6, perMTok: good },
            ],
          },
        },
      },
    ],
    [
      'prices.models.m.tiers[0].promptTokens.gt',
      { models: { m: { perMTok: good, tiers: [{ promptTokens: { gt: -5 }, perMTok: good }] } } },
    ],
    [
      'prices.models.m.tiers[0].above',
      { models: { m: { perMTok: good, tiers: [{ above: 'many', perMTok: good }] } } },
    ],
    ['prices.modifiers[0].name', { models: {}, modifiers: [{ name: 'weather=fine', factor: 1 }] }],
    ['prices.models.m.webSearchPerThousand', { models: { m: { perMTok: good, webSearchPerThousand: -1 } } }],
    ['prices.models.m.perMTok.input', { models: { m: { perMTok: { ...good, input: Number.NaN } } } }],
    ['prices.models.m.perMTok.ouput', { models: { m: { perMTok: { ...good, ouput: 1 } } } }],
    ['prices.models.m.surcharge', { models: { m: { perMTok: good, surcharge: { input: 1 } } } }],
    ['prices.models.m.tiers[0]', { models: { m: { perMTok: good, tiers: [{ perMTok: good }] } } }],
    [
      'prices.models.m.tiers[0].perMTok.output',
      {
        models: {
          m: { perMTok: good, tiers: [{ abovePromptTokens: 5, perMTok: { input: 1, output: -2 } }] },
        },
      },
    ],
    [
      'prices.models.m.above200k[0].perMTok.input',
      { models: { m: { perMTok: good, above200k: { output: 1 } } } },
    ],
    [
      'prices.models.m.perMTok.input.tiers[0].start',
      { models: { m: { perMTok: { ...good, input: { base: 1, tiers: [{ start: 'soon', price: 1 }] } } } } },
    ],
    ['prices.models.m[1].from', { models: { m: [{ perMTok: good }, { perMTok: good, from: 'soon' }] } }],
    ['prices.modifiers[0].factor', { models: {}, modifiers: [{ name: 'batch', factor: -1 }] }],
    ['prices.modifiers[0].name', { models: {}, modifiers: [{ factor: 1 }] }],
    ['prices.modifiers', { models: {}, modifiers: 'half' }],
  ];
  for (const [where, value] of faults) {
    test(`${where}: ${JSON.stringify(value)}`, () => {
      assert.throws(
        () => readGivenPriceBook(value, 'anthropic'),
        (error: Error & { code?: string; details?: { where?: string } }) => {
          assert.equal(error.code, 'price_book_invalid');
          assert.equal(error.details?.where, where);
          return true;
        },
      );
    });
  }
});

test('remarks are no fault', () => {
  const book = readGivenPriceBook(
    {
      currency: 'USD',
      source: 'x',
      asOf: '2026-01-01',
      models: { m: { perMTok: { ...good, cacheRead: null }, note: 'list price' }, none: null },
    },
    'openai',
  );
  assert.deepEqual([...(book.providers.get('openai')?.models.keys() ?? [])], ['m']);
});
