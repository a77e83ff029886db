/** What a JSON text has that its parsed value no longer tells, or that would overflow whoever walks the value. */
export interface JsonScan {
  /** The first key that an object names twice. `JSON.parse` silently takes the last one, which would run something that the text also says otherwise. */
  readonly duplicateKey: string | null;
  /** How deep arrays and objects are nested. */
  readonly depth: number;
}

const [quote, backslash, comma, openArray, closeArray, openObject, closeObject] = Buffer.from('"\\,[]{}');

/** Scans a text that `JSON.parse` has accepted: only strings, brackets and commas matter then. */
export function scanJson(json: string): JsonScan {
  const open: (Set<string> | null)[] = [];
  let expectsKey = false;
  let duplicateKey: string | null = null;
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    const character = json.charCodeAt(at);
    if (character === openObject || character === openArray) {
      open.push(character === openObject ? new Set() : null);
      depth = Math.max(depth, open.length);
      expectsKey = character === openObject;
    } else if (character === closeObject || character === closeArray) {
      open.pop();
      expectsKey = false;
    } else if (character === comma) {
      expectsKey = open.at(-1) != null;
    } else if (character === quote) {
      const end = endOfString(json, at);
      if (expectsKey) {
        const key = JSON.parse(json.slice(at, end + 1)) as string;
        const keys = open.at(-1);
        if (keys?.has(key) === true) duplicateKey ??= key;
        keys?.add(key);
      }
      expectsKey = false;
      at = end;
    }
  }
  return { duplicateKey, depth };
}

/** Where the string ends that begins there. By hand: a pattern runs out of stack in a string of some megabytes. */
function endOfString(json: string, begin: number): number {
  for (let at = begin + 1; at < json.length; at += 1) {
    const character = json.charCodeAt(at);
    if (character === quote) return at;
    if (character === backslash) at += 1;
  }
  return json.length;
}
