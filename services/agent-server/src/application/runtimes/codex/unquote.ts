/**
 * The text of one shell word made of quoted parts alone, as programs write it when they join arguments. Null for
 * anything that a shell would expand, split or end: it is then judged as it stands.
 */
export function unquote(word: string): string | null {
  let text = '';
  for (let at = 0; at < word.length;) {
    const character = word[at] ?? '';
    if (character === "'") {
      const end = word.indexOf("'", at + 1);
      if (end < 0) return null;
      text += word.slice(at + 1, end);
      at = end + 1;
    } else if (character === '"') {
      const quoted = doubleQuoted(word, at + 1);
      if (quoted === null) return null;
      text += quoted.text;
      at = quoted.end;
    } else if (character === '\\' && at + 1 < word.length) {
      text += word[at + 1] ?? '';
      at += 2;
    } else if (/[\w@%+=:,./-]/.test(character)) {
      text += character;
      at += 1;
    } else {
      return null;
    }
  }
  return text;
}

function doubleQuoted(word: string, from: number): { readonly text: string; readonly end: number } | null {
  let text = '';
  for (let at = from; at < word.length; at += 1) {
    const character = word[at] ?? '';
    const next = word[at + 1] ?? '';
    if (character === '"') return { text, end: at + 1 };
    if (character === '$' || character === '`') return null;
    if (character === '\\' && /["\\$`]/.test(next)) {
      text += next;
      at += 1;
    } else {
      text += character;
    }
  }
  return null;
}
