// Most entries are plain: ASCII, no escapes, whole numbers. For those a look at each byte tells that they are canonical,
// for a third of what writing the parsed value anew and comparing takes (340 bytes: 0.4 against 1.3 microseconds).

const [quote, colon, comma] = [0x22, 0x3a, 0x2c];
const [braceOpen, braceClose, listOpen, listClose] = [0x7b, 0x7d, 0x5b, 0x5d];
/** Digits of which every whole number is exact and written as it is. */
const mostDigits = 15;
const deepest = 32;
/** What the functions that skip return where there is nothing of the kind that is certainly canonical. */
export const nowhere = -1;

/**
 * Whether bytes are certainly the canonical form (RFC 8785) of some JSON. `false` says nothing: the text may have
 * escapes, other letters than ASCII or fractions, and be canonical all the same.
 */
export function isPlainlyCanonical(bytes: Uint8Array): boolean {
  return skipValue(bytes, 0, 0) === bytes.length;
}

/** Each returns the place behind what it skipped, or `nowhere`. */
function skipValue(bytes: Uint8Array, at: number, depth: number): number {
  const first = bytes[at];
  if (first === quote) return skipText(bytes, at);
  if (first === braceOpen) return depth > deepest ? nowhere : skipMembers(bytes, at + 1, depth + 1);
  if (first === listOpen) return depth > deepest ? nowhere : skipItems(bytes, at + 1, depth + 1);
  return first === undefined ? nowhere : skipWord(bytes, at, first);
}

/** The place behind a plain text, quotes included; `nowhere` where there is none. */
export function skipText(bytes: Uint8Array, at: number): number {
  const { length } = bytes;
  for (let place = at + 1; place < length; place += 1) {
    const byte = bytes[place] as number;
    if (byte === quote) return place + 1;
    // control characters, the backslash, and what is not ASCII
    if (byte < 0x20 || byte === 0x5c || byte > 0x7e) return nowhere;
  }
  return nowhere;
}

/** The place behind an object's members, from behind its opening brace to behind its closing one. */
export function skipMembers(bytes: Uint8Array, from: number, depth: number): number {
  if (bytes[from] === braceClose) return from + 1;
  let at = from;
  let before = nowhere;
  for (;;) {
    if (bytes[at] !== quote) return nowhere;
    const end = skipText(bytes, at);
    if (end === nowhere || bytes[end] !== colon) return nowhere;
    if (before !== nowhere && !isBefore(bytes, before + 1, at + 1)) return nowhere;
    before = at;
    at = skipValue(bytes, end + 1, depth);
    if (at === nowhere) return nowhere;
    if (bytes[at] === braceClose) return at + 1;
    if (bytes[at] !== comma) return nowhere;
    at += 1;
  }
}

function skipItems(bytes: Uint8Array, from: number, depth: number): number {
  if (bytes[from] === listClose) return from + 1;
  for (let at = from; ; at += 1) {
    at = skipValue(bytes, at, depth);
    if (at === nowhere) return nowhere;
    if (bytes[at] === listClose) return at + 1;
    if (bytes[at] !== comma) return nowhere;
  }
}

/** Whether one name sorts before another; both are plain and end with a quote. */
function isBefore(bytes: Uint8Array, one: number, other: number): boolean {
  for (let place = 0; ; place += 1) {
    const left = bytes[one + place];
    const right = bytes[other + place];
    // the shorter one first; the end of both is one name twice
    if (left === quote) return right !== quote;
    if (right === quote) return false;
    if (left !== right) return (left ?? 0) < (right ?? 0);
  }
}

const [t, f, n, minus, zero, nine] = [0x74, 0x66, 0x6e, 0x2d, 0x30, 0x39];

/** The place behind a literal or a whole number that begins with `first`. */
export function skipWord(bytes: Uint8Array, at: number, first: number): number {
  if (first === t) return isWord(bytes, at, 'true');
  if (first === f) return isWord(bytes, at, 'false');
  if (first === n) return isWord(bytes, at, 'null');
  const start = first === minus ? at + 1 : at;
  let end = start;
  for (let byte = bytes[end] ?? 0; byte >= zero && byte <= nine; byte = bytes[end] ?? 0) end += 1;
  const digits = end - start;
  if (digits === 0 || digits > mostDigits) return nowhere;
  // no zero in front, and none that is negative; a fraction or an exponent is found where a comma should be
  return bytes[start] === zero && (digits > 1 || start > at) ? nowhere : end;
}

function isWord(bytes: Uint8Array, at: number, word: string): number {
  for (let place = 0; place < word.length; place += 1)
    if (bytes[at + place] !== word.charCodeAt(place)) return nowhere;
  return at + word.length;
}
