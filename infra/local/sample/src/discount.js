/** From how many pieces on a line earns which discount, in percent; the largest step first. */
const steps = [
  { fromQuantity: 100, percent: 15 },
  { fromQuantity: 50, percent: 10 },
  { fromQuantity: 10, percent: 5 },
];

/** The discount that a quantity earns, in percent. */
export function discountPercent(quantity) {
  const step = steps.find(({ fromQuantity }) => quantity > fromQuantity);
  return step === undefined ? 0 : step.percent;
}
