/**
 * Reasons of a verdict as the audit log may have them. Beside its own words a reason quotes the command: a path in round
 * brackets, what the parser met, the name of a variable. The person who approves needs to read that; the log holds no
 * code. What the policy says itself stays, its patterns among it.
 * @param flagged patterns of the policy, which a reason may name
 */
export function loggedReasons(reasons: readonly string[], flagged: readonly string[]): string[] {
  const logged = reasons.map((reason) => {
    const pattern = flagged.find((one) => reason.endsWith(` (${one})`));
    const own = quotes.reduce((text, [quote, instead]) => text.replace(quote, instead), reason);
    return pattern === undefined || own === reason ? own : `${own} (${pattern})`;
  });
  // two that differed by what they quoted say the same now
  return [...new Set(logged)];
}

/** Where reasons quote, and what is left of it. */
const quotes: readonly (readonly [RegExp, string])[] = [
  [/ \(.*$/s, ''],
  [/^((?:\w+: )?cannot be parsed at character \d+): .*$/s, '$1'],
  [/^(the evaluation of \S+ failed): .*$/s, '$1'],
  [/\bsets \S+, /, 'sets a variable, '],
];
