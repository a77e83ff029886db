/**
 * One line of a CSV file (RFC 4180); null is an empty field. A text that a spreadsheet would take for a formula is
 * preceded by an apostrophe: names of projects and people come from others.
 */
export function csvLine(values: readonly (string | number | null)[]): string {
  return `${values.map(field).join(',')}\r\n`;
}

function field(value: string | number | null): string {
  if (value === null) return '';
  const text = typeof value === 'string' && isFormula(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Numbers may begin with a minus. */
function isFormula(text: string): boolean {
  return /^[=+@\t\r-]/.test(text) && !/^-?\d+(\.\d+)?$/.test(text);
}
