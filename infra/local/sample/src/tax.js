/** Tax in percent by kind of goods. */
const ratePercent = { standard: 20, food: 5, book: 0 };

/** The tax rate of a kind of goods, in percent. */
export function taxPercent(kind) {
  const rate = ratePercent[kind];
  if (rate === undefined) {
    throw new RangeError(`no tax rate for goods of kind ${kind}`);
  }
  return rate;
}
