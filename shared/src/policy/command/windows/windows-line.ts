/** One command of a line of cmd or PowerShell: its words without quotes, and as written. */
export interface WindowsPiece {
  readonly words: readonly string[];
  readonly raws: readonly string[];
}

/** More pieces than this are no line of a person. */
const maxPieces = 2_000;

/**
 * Splits a text as the shells of Windows do: a backslash is a character, a caret or a backtick takes the meaning of
 * what follows away, commands end at `&`, `|`, `;`, line ends, braces and parentheses that stand alone. An open quote
 * reaches to the end. Good enough to find names and targets, not to tell what a script does.
 */
export function windowsPieces(text: string): WindowsPiece[] {
  const pieces: Building[] = [];
  let piece: Building = { words: [], raws: [] };
  let word: Word | undefined;
  let quote = '';
  let attached = 0;
  const endWord = (): void => {
    if (word !== undefined) {
      piece.words.push(word.value);
      piece.raws.push(word.raw);
    }
    word = undefined;
    attached = 0;
  };
  const endPiece = (): void => {
    endWord();
    if (piece.words.length > 0) pieces.push(piece);
    piece = { words: [], raws: [] };
  };
  const add = (value: string, raw: string): void => {
    word = { value: (word?.value ?? '') + value, raw: (word?.raw ?? '') + raw };
  };
  for (let at = 0; at < text.length && pieces.length < maxPieces; at += 1) {
    const char = text[at] ?? '';
    if (quote !== '') {
      if (char === quote) quote = '';
      add(char === quote || quote === '' ? '' : char, char);
    } else if (char === '"' || char === "'") {
      quote = char;
      add('', char);
    } else if (char === '^' || char === '`') {
      at += 1;
      add(text[at] ?? '', text[at] ?? '');
    } else if (/[\s,]/.test(char) && char !== '\n') endWord();
    // `everyone:(F)` and `iex(…)`: the parenthesis belongs to its word
    else if (char === '(' && word !== undefined) {
      attached += 1;
      add(char, char);
    } else if (char === ')' && attached > 0) {
      attached -= 1;
      add(char, char);
    } else if (/[&|;\n(){}]/.test(char)) endPiece();
    else add(char, char);
  }
  endPiece();
  return pieces.map(withoutPrefixes).filter(({ words }) => words.length > 0);
}

interface Word {
  readonly value: string;
  readonly raw: string;
}

interface Building {
  words: string[];
  raws: string[];
}

/** What may stand in front of a command in cmd and PowerShell. */
const prefixes: readonly RegExp[] = [/^(do|call|else|then|try|finally|@)$/i, /^\$[\w:]+=?$|^=$/];

/** `if exist C:\x rd …`, `do del …`, `@del …`, `$x = iex …`: the command behind. */
function withoutPrefixes(piece: Building): WindowsPiece {
  let from = 0;
  while (prefixes.some((prefix) => prefix.test(piece.words[from] ?? ''))) from += 1;
  if (/^if$/i.test(piece.words[from] ?? '')) from += conditionLength(piece.words.slice(from));
  const words = piece.words.slice(from);
  const first = words[0];
  if (first === undefined) return { words, raws: [] };
  return { words: [first.replace(/^@/, ''), ...words.slice(1)], raws: piece.raws.slice(from) };
}

/** `if [/i] [not] exist FILE`, `if errorlevel N`, `if A==B`. */
function conditionLength(words: readonly string[]): number {
  let at = 1;
  while (/^(\/i|not)$/i.test(words[at] ?? '')) at += 1;
  if (/^(exist|errorlevel|defined)$/i.test(words[at] ?? '')) return at + 2;
  if (/==/.test(words[at] ?? '')) return at + 1;
  return /^(==|equ|neq|lss|leq|gtr|geq)$/i.test(words[at + 1] ?? '') ? at + 3 : at;
}
