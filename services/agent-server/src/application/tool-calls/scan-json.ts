/** What a JSON text has that its parsed value no longer tells, or that would overflow whoever walks the value. */
export interface JsonScan {
  /** The first key that an object names twice. `JSON.parse` silently takes the last one, which would run something that the text also says otherwise. */
  readonly duplicateKey: string | null;
  /** How deep arrays and objects are nested. */
  readonly depth: number;
}

/** Scans a text that `JSON.parse` has accepted: only strings, brackets and commas matter then. */
export function scanJson(json: string): JsonScan {
  const open: (Set<string> | null)[] = [];
  let expectsKey = false;
  let duplicateKey: string | null = null;
  let depth = 0;
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],]/g)) {
    if (token === '{' || token === '[') {
      open.push(token === '{' ? new Set() : null);
      depth = Math.max(depth, open.length);
      expectsKey = token === '{';
    } else if (token === '}' || token === ']') {
      open.pop();
      expectsKey = false;
    } else if (token === ',') {
      expectsKey = open.at(-1) != null;
    } else if (expectsKey) {
      expectsKey = false;
      const key = JSON.parse(token) as string;
      const keys = open.at(-1);
      if (keys?.has(key) === true) duplicateKey ??= key;
      keys?.add(key);
    }
  }
  return { duplicateKey, depth };
}
