/** What was kept last, by name; the oldest goes first. */
export interface MostRecent<Value> {
  get(name: string): Value | undefined;
  keep(name: string, value: Value): void;
}

/** @param most values that are kept at once */
export function createMostRecent<Value>(most: number): MostRecent<Value> {
  const kept = new Map<string, Value>();
  return {
    get: (name) => kept.get(name),
    keep: (name, value) => {
      kept.delete(name);
      kept.set(name, value);
      const [oldest] = kept.keys();
      if (kept.size > most && oldest !== undefined) kept.delete(oldest);
    },
  };
}
