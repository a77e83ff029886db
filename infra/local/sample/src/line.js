/** Makes an invoice line. `unitCents` is the price of one piece in cents. */
export function createLine(goods, quantity, unitCents, kind = 'standard') {
  if (!Number.isInteger(quantity) || quantity < 1) {
    throw new RangeError(`quantity of ${goods} must be a whole number from 1, not ${quantity}`);
  }
  if (!Number.isInteger(unitCents) || unitCents < 0) {
    throw new RangeError(`price of ${goods} must be whole cents, not ${unitCents}`);
  }
  return { goods, quantity, unitCents, kind };
}

/** Price of a line before discount and tax, in cents. */
export function lineCents(line) {
  return line.quantity * line.unitCents;
}
