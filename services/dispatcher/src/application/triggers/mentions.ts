/** `@name` where a word begins: not inside an address, not in code. */
const mention = /(?<![\w@./`-])@([a-z0-9][a-z0-9._-]{0,62}(?:@[a-z0-9.-]+)?)/gi;
const code = /```[^]*?```|`[^`\n]*`/g;
/** What a person quotes was said by somebody else, and asks nobody again. */
const quoted = /^>.*$/gm;

/** Most names of one text that are looked up. */
const most = 20;

/**
 * The names that a text mentions, each once, in lower case. Code and quotations mention nobody; a dot at the end is the
 * sentence's.
 */
export function mentionsIn(text: string): string[] {
  const spoken = text.replace(code, ' ').replace(quoted, ' ');
  const names = [...spoken.matchAll(mention)].map(([, name = '']) =>
    name.toLowerCase().replace(/[.-]+$/, ''),
  );
  return [...new Set(names)].filter((name) => name !== '').slice(0, most);
}
