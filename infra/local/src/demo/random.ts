/** Chance that is the same at every run, so that a demonstration can be told about. */
export interface Chance {
  /** From 0 to before 1. */
  next(): number;
  /** A whole number from `from` to `to`. */
  between(from: number, to: number): number;
  /** One of the choices, by their weights. */
  pick<Value>(choices: readonly (readonly [value: Value, weight: number])[]): Value;
  one<Value>(values: readonly Value[]): Value;
  /** Of a long-tailed kind: mostly near the middle, now and then many times it. */
  around(middle: number, spread: number): number;
  hex(digits: number): string;
}

/** mulberry32: 32 bits of state are enough for a story. */
export function createChance(seed: number): Chance {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1));
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  return {
    next,
    between,
    pick: (choices) => {
      const whole = choices.reduce((sum, [, weight]) => sum + weight, 0);
      let at = next() * whole;
      for (const [value, weight] of choices) {
        at -= weight;
        if (at < 0) return value;
      }
      const last = choices.at(-1);
      if (last === undefined) throw new Error('there is nothing to pick from');
      return last[0];
    },
    one: (values) => {
      const value = values[between(0, values.length - 1)];
      if (value === undefined) throw new Error('there is nothing to pick from');
      return value;
    },
    around: (middle, spread) => middle * Math.exp(normal() * spread),
    hex: (digits) => Array.from({ length: digits }, () => Math.floor(next() * 16).toString(16)).join(''),
  };
}
