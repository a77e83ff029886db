/** Rounds an amount to whole cents, halves away from zero. */
export function roundCents(amount) {
  return Math.sign(amount) * Math.round(Math.abs(amount));
}

/** Prints cents as an amount: 123456 becomes "1,234.56". */
export function formatCents(cents) {
  const sign = cents < 0 ? '-' : '';
  const digits = String(Math.abs(cents)).padStart(3, '0');
  const whole = digits.slice(0, -2).replace(/\B(?=(\d{3})+$)/g, ',');
  return `${sign}${whole}.${digits.slice(-2)}`;
}

/** Adds up a list of cents. */
export function sumCents(amounts) {
  return amounts.reduce((total, amount) => total + amount, 0);
}
