/**
 * The first key that an object of a JSON text names twice, or null. `JSON.parse` silently takes the last one, which
 * would run something that the text also says otherwise. The text must have been parsed before: only strings, braces
 * and commas matter then.
 */
export function findDuplicateKey(json: string): string | null {
  const objects: (Set<string> | null)[] = [];
  let expectsKey = false;
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],]/g)) {
    if (token === '{' || token === '[') {
      objects.push(token === '{' ? new Set() : null);
      expectsKey = token === '{';
    } else if (token === '}' || token === ']') {
      objects.pop();
      expectsKey = false;
    } else if (token === ',') {
      expectsKey = objects.at(-1) != null;
    } else if (expectsKey) {
      expectsKey = false;
      const key = JSON.parse(token) as string;
      const keys = objects.at(-1);
      if (keys?.has(key) === true) return key;
      keys?.add(key);
    }
  }
  return null;
}
