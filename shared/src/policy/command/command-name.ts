/**
 * What a program is called, however it is addressed: the last part of its path, without the endings by which
 * Windows finds programs, in lower case (file systems that ignore case run `SUDO` too).
 */
export function commandName(value: string): string {
  return (
    value
      .slice(value.lastIndexOf('/') + 1)
      .trim()
      // cmd does not show a command behind `@`
      .replace(/^@/, '')
      .toLowerCase()
      .replace(/\.(exe|com|cmd|bat|ps1)$/, '')
  );
}

const windowsPath = /^(?:[A-Za-z]:|%|\.{0,2}\\)/;

/**
 * The program's name if the word, as written, is a path of Windows: bash takes its backslashes away, the shells
 * of Windows do not. A second reading, never instead of the first: `\s\u\d\o` is `sudo` in bash.
 */
export function windowsName(raw: string): string | undefined {
  if (/^["']?%comspec%["']?$/i.test(raw)) return 'cmd';
  // a caret takes away what the next character means to cmd
  if (/^\^?\w[\w^.-]*$/.test(raw) && raw.includes('^')) return raw.replaceAll('^', '');
  const path = raw.replace(/^["']+|["']+$/g, '');
  if (!path.includes('\\') || !windowsPath.test(path)) return undefined;
  return path.slice(path.lastIndexOf('\\') + 1);
}
