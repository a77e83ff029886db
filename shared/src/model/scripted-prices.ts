import { Decimal } from './decimal.ts';
import type { ProviderPrices } from './price-book.ts';

/**
 * A stand-in price for the scripted model, which costs nothing: bills, budgets and reports of a local run then show
 * exact amounts that are not zero. The figures are those of a small model of 2025.
 */
export const scriptedPrices: ProviderPrices = {
  models: new Map([
    [
      'scripted-1',
      [
        {
          from: Number.NEGATIVE_INFINITY,
          tiers: [
            {
              abovePromptTokens: 0,
              perMTok: {
                input: new Decimal('1'),
                output: new Decimal('5'),
                cacheRead: new Decimal('0.1'),
                cacheWrite5m: new Decimal('1.25'),
                cacheWrite1h: new Decimal('2'),
              },
            },
          ],
        },
      ],
    ],
  ]),
  datedModels: new Set(),
  modifiers: [],
  otherConditions: 'unpriced',
};
