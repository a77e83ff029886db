/**
 * What a program is called, however it is addressed: the last part of its path, without the endings by which
 * Windows finds programs, in lower case (file systems that ignore case run `SUDO` too).
 * @param value the word's value
 * @param raw the word as written; a backslash path loses its backslashes in bash
 */
export function commandName(value: string, raw: string): string {
  const windows = /^["']?([A-Za-z]:)?[^'"]*\\[^'"]*$/.test(raw) && /^["']?([A-Za-z]:|\.{0,2}\\|%)/.test(raw);
  const path = windows ? raw.replace(/^["']+|["']+$/g, '') : value;
  const base = path.slice(Math.max(path.lastIndexOf('/'), windows ? path.lastIndexOf('\\') : -1) + 1);
  return base
    .trim()
    .toLowerCase()
    .replace(/\.(exe|com|cmd|bat|ps1)$/, '');
}
