/** A variable that the test runner sets. */
export function testVariable(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`This test needs ${name}; npm test sets it.`);
  return value;
}
