import { Decimal } from './decimal.ts';
import type { ModifierCondition, PriceModifier } from './price-book.ts';

const modifier = (
  field: ModifierCondition['field'],
  value: string,
  factor: string,
  models?: readonly string[],
): PriceModifier => ({
  name: field === 'batch' ? 'batch' : `${field}=${value}`,
  factor: new Decimal(factor),
  when: { field, value },
  ...(models === undefined ? {} : { models }),
});

// Processing in the US only: 1.1 times, for models released from February 2026 on.
const regionalModels = [
  'claude-opus-4-6',
  'claude-sonnet-4-6',
  'claude-opus-4-7',
  'claude-opus-4-8',
  'claude-opus-5',
  'claude-opus-5-5',
  'claude-sonnet-5',
  'claude-fable-5',
  'claude-fable-5-1',
] as const;

// Faster processing has one factor a model for all buckets; a model that is not listed stays unpriced there.
const fastTwice = [
  'gpt-5',
  'gpt-5-codex',
  'gpt-5.1',
  'gpt-5.1-codex',
  'gpt-5.2',
  'gpt-5.4',
  'gpt-5.4-mini',
  'gpt-5.6',
  'gpt-5.6-sol',
  'gpt-5.6-terra',
  'gpt-5.6-luna',
] as const;

const openAiFast = (tier: string): PriceModifier[] => [
  modifier('serviceTier', tier, '2', fastTwice),
  modifier('serviceTier', tier, '1.8', ['gpt-5-mini']),
  modifier('serviceTier', tier, '2.5', ['gpt-5.5']),
  modifier('serviceTier', tier, '1.75', ['gpt-4.1', 'gpt-4.1-mini', 'o3']),
  modifier('serviceTier', tier, '1.7', ['gpt-4o']),
];

/** What the providers' price pages say about tiers, as factors on the standard price. Read in November 2026. */
export const pinnedModifiers: Readonly<Record<string, readonly PriceModifier[]>> = {
  anthropic: [
    modifier('batch', 'batch', '0.5'),
    // Capacity bought in advance; the list price is what a chargeback can use.
    modifier('serviceTier', 'priority', '1'),
    modifier('speed', 'fast', '6', ['claude-opus-4-6', 'claude-opus-4-7']),
    modifier('speed', 'fast', '2', ['claude-opus-4-8', 'claude-opus-5']),
    modifier('region', 'us', '1.1', regionalModels),
  ],
  openai: [
    modifier('batch', 'batch', '0.5'),
    modifier('serviceTier', 'flex', '0.5'),
    modifier('serviceTier', 'scale', '1'),
    ...openAiFast('priority'),
    ...openAiFast('fast'),
  ],
  // "Pricing matches the on-demand tier": https://console.groq.com/docs/flex-processing
  groq: [modifier('serviceTier', 'flex', '1')],
};
