import { Decimal as Base } from 'decimal.js';

/**
 * Decimals for money. 60 digits hold every product of a token count, a price and a few factors exactly; nothing is
 * rounded before somebody prints an invoice.
 */
export const Decimal = Base.clone({ precision: 60, toExpNeg: -60, toExpPos: 60 });
export type Decimal = Base;

/** Plain notation, as short as the value allows: `0.0002646`, `12`, never an exponent. */
export function decimalText(value: Decimal): string {
  return value.toFixed();
}
