const dayMs = 24 * 60 * 60 * 1000;

/** The day an invoice is due, as YYYY-MM-DD: some days after its date, and on Monday when that is a weekend. */
export function dueDate(invoiceDate, days = 30) {
  const due = new Date(Date.parse(`${invoiceDate}T00:00:00Z`) + days * dayMs);
  while (isWeekend(due)) {
    due.setTime(due.getTime() + dayMs);
  }
  return due.toISOString().slice(0, 10);
}

function isWeekend(date) {
  return date.getUTCDay() === 0 || date.getUTCDay() === 6;
}
