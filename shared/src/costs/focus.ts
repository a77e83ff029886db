import { Decimal } from '../model/decimal.ts';

// FOCUS 1.2, https://focus.finops.org/focus-specification/v1-2/. One row a session, day, model and kind of token.

/** A cost that becomes a row: what one session used of one bucket on one day. */
export interface FocusCharge {
  readonly sessionId: string;
  readonly day: string;
  readonly project: string;
  readonly agent: string;
  readonly user: string;
  readonly runtime: string;
  /** Address, name or path; empty where the session is not known any more. */
  readonly repository: string;
  readonly provider: string;
  readonly model: string;
  readonly costCentre: string;
  readonly priceBook: string;
  /**
   * `correction`: of a month that was over, and billed, before it was put right. `amendment`: of one that still ran, which
   * FOCUS has among the ordinary charges.
   */
  readonly kind: 'usage' | 'compute' | 'correction' | 'amendment';
  readonly bucket: FocusBucket;
  /** Tokens, requests, or seconds of a slot. */
  readonly quantity: string;
  readonly usd: string;
  /** False: some of it was cut or has a fee without a price, so that there is at least so much. */
  readonly complete: boolean;
  /** Some of it has no price: its cost is missing from `usd`. */
  readonly unpriced: boolean;
}

export const focusBuckets = ['input', 'output', 'cacheRead', 'cacheWrite', 'other', 'compute'] as const;
export type FocusBucket = (typeof focusBuckets)[number];

/** Who issues the bills that the export is to be laid beside. */
export interface FocusAccount {
  readonly id: string;
  readonly name: string;
}

interface FocusColumn {
  readonly name: string;
  readonly type: 'decimal' | 'text' | 'time' | 'json';
  readonly nullable: boolean;
  readonly allowed?: readonly string[];
  readonly value: (charge: FocusCharge, account: FocusAccount) => string | null;
}

const units: Readonly<
  Record<FocusBucket, { readonly consumed: string; readonly priced: string; readonly per: number }>
> = {
  input: { consumed: 'Tokens', priced: '1000000 Tokens', per: 1_000_000 },
  output: { consumed: 'Tokens', priced: '1000000 Tokens', per: 1_000_000 },
  cacheRead: { consumed: 'Tokens', priced: '1000000 Tokens', per: 1_000_000 },
  cacheWrite: { consumed: 'Tokens', priced: '1000000 Tokens', per: 1_000_000 },
  other: { consumed: 'Requests', priced: '1000 Requests', per: 1_000 },
  compute: { consumed: 'Seconds', priced: 'Hours', per: 3_600 },
};
const bucketWords: Readonly<Record<FocusBucket, string>> = {
  input: 'input tokens',
  output: 'output tokens',
  cacheRead: 'tokens read from the cache',
  cacheWrite: 'tokens written to the cache',
  other: 'requests billed by number',
  compute: 'slot of an agent server',
};

const midnight = (day: string, plusDays = 0): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + plusDays * 86_400_000).toISOString().replace('.000', '');
const monthStart = (day: string, plus = 0): string => {
  const [year = 0, month = 1] = day.split('-').map(Number);
  return new Date(Date.UTC(year, month - 1 + plus, 1)).toISOString().replace('.000', '');
};
const isCompute = (charge: FocusCharge): boolean => charge.kind === 'compute';
const vendor = (charge: FocusCharge): string => (isCompute(charge) ? 'Lemniscate' : charge.provider);
const usd = (charge: FocusCharge): string => charge.usd;

/**
 * Putting a price right changes money alone. FOCUS lets the quantity be null in a correction only: in an amendment it is
 * nothing, for what was used is in the charge that it amends.
 */
const quantityOf = (charge: FocusCharge, per: number): string | null => {
  if (charge.kind === 'correction') return null;
  return charge.kind === 'amendment' ? '0' : new Decimal(charge.quantity).div(per).toFixed();
};

const text = (name: string, value: FocusColumn['value'], nullable = false): FocusColumn => ({
  name,
  type: 'text',
  nullable,
  value,
});
const decimal = (name: string, value: FocusColumn['value'], nullable = false): FocusColumn => ({
  name,
  type: 'decimal',
  nullable,
  value,
});
const time = (name: string, value: FocusColumn['value']): FocusColumn => ({
  name,
  type: 'time',
  nullable: false,
  value,
});

/** The columns in the order of the export; the mandatory ones of the specification are all among them. */
export const focusColumns: readonly FocusColumn[] = [
  decimal('BilledCost', usd),
  text('BillingAccountId', (_charge, account) => account.id),
  text('BillingAccountName', (_charge, account) => account.name, true),
  text('BillingCurrency', () => 'USD'),
  time('BillingPeriodStart', ({ day }) => monthStart(day)),
  time('BillingPeriodEnd', ({ day }) => monthStart(day, 1)),
  {
    ...text('ChargeCategory', () => 'Usage'),
    allowed: ['Usage', 'Purchase', 'Tax', 'Credit', 'Adjustment'],
  },
  {
    ...text('ChargeClass', ({ kind }) => (kind === 'correction' ? 'Correction' : null), true),
    allowed: ['Correction'],
  },
  text('ChargeDescription', (charge) => `${charge.model}: ${bucketWords[charge.bucket]}`, true),
  {
    ...text('ChargeFrequency', () => 'Usage-Based'),
    allowed: ['One-Time', 'Recurring', 'Usage-Based'],
  },
  time('ChargePeriodStart', ({ day }) => midnight(day)),
  time('ChargePeriodEnd', ({ day }) => midnight(day, 1)),
  decimal('ConsumedQuantity', (charge) => quantityOf(charge, 1), true),
  text(
    'ConsumedUnit',
    (charge) => (charge.kind === 'correction' ? null : units[charge.bucket].consumed),
    true,
  ),
  decimal('ContractedCost', usd),
  decimal('EffectiveCost', usd),
  text('InvoiceIssuerName', vendor),
  decimal('ListCost', usd),
  {
    ...text('PricingCategory', (charge) => (charge.kind === 'correction' ? null : 'Standard'), true),
    allowed: ['Standard', 'Dynamic', 'Committed', 'Other'],
  },
  decimal('PricingQuantity', (charge) => quantityOf(charge, units[charge.bucket].per), true),
  text('PricingUnit', (charge) => (charge.kind === 'correction' ? null : units[charge.bucket].priced), true),
  text('ProviderName', vendor),
  text('PublisherName', vendor),
  text('ResourceId', ({ sessionId }) => sessionId, true),
  text('ResourceName', ({ sessionId }) => sessionId, true),
  text('ResourceType', () => 'Agent session', true),
  {
    ...text('ServiceCategory', (charge) => (isCompute(charge) ? 'Compute' : 'AI and Machine Learning')),
    allowed: ['AI and Machine Learning', 'Compute'],
  },
  text('ServiceName', (charge) =>
    isCompute(charge) ? 'Lemniscate agent servers' : `${charge.provider} models`,
  ),
  {
    ...text('ServiceSubcategory', (charge) => (isCompute(charge) ? 'Containers' : 'Generative AI')),
    allowed: ['Generative AI', 'Containers'],
  },
  text('SubAccountId', ({ project }) => project, true),
  text('SubAccountName', ({ project }) => project, true),
  {
    name: 'Tags',
    type: 'json',
    nullable: true,
    value: ({ project, agent, user, runtime, repository, costCentre }) =>
      JSON.stringify({
        project,
        agent,
        user,
        runtime,
        ...(repository === '' ? {} : { repository }),
        ...(costCentre === '' ? {} : { cost_centre: costCentre }),
      }),
  },
  // False: the quantity or the cost is a lower bound.
  text('x_Complete', ({ complete, unpriced }) => String(complete && !unpriced)),
  text('x_PriceBookVersion', ({ priceBook }) => (priceBook === '' ? null : priceBook), true),
  text('x_TokenBucket', ({ bucket }) => bucket),
  // True: no price is known for some of the quantity, and its cost is not the zero that it adds.
  text('x_Unpriced', ({ unpriced }) => String(unpriced)),
];

/** One row of the export, in the order of `focusColumns`. */
export function toFocusRow(charge: FocusCharge, account: FocusAccount): (string | null)[] {
  return focusColumns.map((column) => column.value(charge, account));
}
