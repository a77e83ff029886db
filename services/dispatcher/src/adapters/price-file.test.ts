import assert from 'node:assert/strict';
import { test } from 'node:test';
import { costOfCall } from '@lemniscate/shared/model/cost.ts';
import { readPinnedPriceBook } from '@lemniscate/shared/model/genai-prices-book.ts';
import { bookOfProject } from '@lemniscate/shared/model/price-book.ts';
import type { PriceBook } from '@lemniscate/shared/model/price-book.ts';
import { noTokens } from '@lemniscate/shared/model/usage.ts';
import { readPriceFile, readPrices } from './price-file.ts';

const pinned = readPinnedPriceBook();
/** What a million tokens of output cost; null: unpriced. */
const outputOf = (book: PriceBook, provider: string, model: string): string | null =>
  costOfCall(
    [
      {
        responseId: null,
        servedModel: model,
        tier: { serviceTier: null, speed: null, region: null },
        parts: [{ model: null, tokens: { ...noTokens, outputTokens: 1_000_000 } }],
        webSearches: 0,
        complete: true,
      },
    ],
    { provider, model, at: Date.parse('2026-11-30'), batch: false },
    book,
  )?.toFixed() ?? null;

const text = `
providers:
  house:
    models:
      llama-70b: {perMTok: {input: 0.2, output: "0.6"}}
projects:
  shop:
    providers:
      anthropic:
        models:
          claude-sonnet-4-6: {perMTok: {input: 2, output: 12}}
          claude-haiku-4-5: {perMTok: {input: 1, output: 4}}
`;

test('a file of prices lies over the book: for the fleet, and for a project alone', () => {
  const book = readPrices(text, pinned);
  const [shop, other] = [bookOfProject(book, 'shop'), bookOfProject(book, 'other')];
  assert.equal(outputOf(pinned, 'house', 'llama-70b'), null);
  for (const one of [shop, other]) assert.equal(outputOf(one, 'house', 'llama-70b'), '0.6');
  assert.equal(outputOf(other, 'anthropic', 'claude-sonnet-4-6'), '15');
  assert.equal(outputOf(shop, 'anthropic', 'claude-sonnet-4-6'), '12');
  assert.equal(outputOf(shop, 'anthropic', 'claude-opus-4-5'), '25');
  // under which the same model is served
  assert.equal(outputOf(shop, 'anthropic', 'claude-haiku-4-5-20251001'), '4');
});

test('the version of a book tells the content of the file and whose it is', () => {
  const [book, same, changed] = [text, text, `${text}\n# later`].map((one) => readPrices(one, pinned));
  assert.match(book?.version ?? '', /^genai-prices-.*\+prices-[0-9a-f]{12}$/);
  assert.equal(same?.version, book?.version);
  assert.notEqual(changed?.version, book?.version);
  assert.equal(bookOfProject(book ?? pinned, 'shop').version, `${book?.version}/shop`);
});

for (const [fault, wrong, told] of [
  [
    'a negative number',
    'providers: {house: {models: {m: {perMTok: {input: -1, output: 1}}}}}',
    /providers\.house: .*models\.m\.perMTok\.input: a price cannot be negative \(-1\)/,
  ],
  [
    'a negative number of a project',
    'projects: {shop: {providers: {house: {models: {m: {perMTok: {input: 1, output: "-0.5"}}}}}}}',
    /projects\.shop\.providers\.house: .*output: a price cannot be negative/,
  ],
  ['another currency', 'providers: {house: {currency: EUR, models: {}}}', /prices are in USD/],
  [
    'a book without models',
    'providers: {house: {model: {}}}',
    /providers\.house: .*models: an object is needed/,
  ],
  ['an unknown member', 'provider: {}', /provider/],
  ['no object', '- a', /expected object/i],
] as const)
  test(`${fault} is told with its place`, () => {
    assert.throws(() => readPrices(wrong, pinned), told);
  });

test('a file that cannot be read is told by its variable', async () => {
  assert.equal(await readPriceFile(undefined, pinned), pinned);
  await assert.rejects(readPriceFile('/nowhere/prices.yaml', pinned), {
    code: 'configuration_invalid',
    message: /^LEMNISCATE_PRICES: \/nowhere\/prices\.yaml: ENOENT/,
  });
});
