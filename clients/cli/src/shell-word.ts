/** A word that a person can paste into a shell as it is; control characters come out in the shell's own escapes. */
export function quoteForShell(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word) && !word.startsWith('-')) return word;
  if (!/[\p{Cc}\p{Cf}]/u.test(word)) return `'${word.replaceAll("'", "'\\''")}'`;
  const bytes = [...Buffer.from(word, 'utf8')].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`);
  return `$'${bytes.join('')}'`;
}
