import type { Call } from '../refused/call.ts';
import { doubtAt } from './doubt.ts';
import type { Doubt } from './doubt.ts';

/** Commands of a client's own language that write a file or load code, and options that do. */
interface ClientRules {
  readonly text: RegExp;
  readonly options: RegExp;
}

const sqlite: ClientRules = {
  text: /(^|\n)\s*\.(output|once|excel|save|backup|clone|log|load|read|import|dump\s*>)\b|\b(load_extension|writefile|edit)\s*\(/i,
  options: /^--?init$/,
};
const psql: ClientRules = {
  text: /(^|[\s;])\\(o|out|w|write|g|gx|i|ir|include|s)\s+\S|\\copy\b[^\n]*\bto\b|\bcopy\b[^;]*\bto\s+'/i,
  options: /^(-o|-L|--output(=.*)?|--log-file(=.*)?)$/,
};
const mysql: ClientRules = {
  text: /\binto\s+(outfile|dumpfile)\b|(^|[\n;])\s*(source|tee|\\\.|\\T)\s/i,
  options: /^--(tee|pager|init-command)(=.*)?$/,
};

const rules: Readonly<Record<string, ClientRules>> = {
  sqlite3: sqlite,
  sqlite,
  psql,
  pgcli: psql,
  mysql,
  mariadb: mysql,
};

/** What a database client is told to do besides asking its server. */
export function clientDoubts(call: Call): Doubt[] {
  const found = Object.hasOwn(rules, call.name) ? rules[call.name] : undefined;
  if (found === undefined) return [];
  const index = call.words.findIndex(
    (word, place) => place > 0 && (found.options.test(word) || found.text.test(word.slice(0, maxLength))),
  );
  const doubt = doubtAt(index, 'the client writes a file or loads code');
  return doubt === undefined ? [] : [doubt];
}

/** Longer statements are data. */
const maxLength = 4000;
