/** Seeded randomness: the same seed makes the same scripts on every machine. */
export interface Random {
  /** A whole number from 0 up to but without `below`. */
  readonly below: (below: number) => number;
  readonly pick: <Item>(items: readonly Item[]) => Item;
  /** True in `percent` of a hundred cases. */
  readonly chance: (percent: number) => boolean;
}

/** The mulberry32 generator: 32 bits of state are enough to name a script by its seed. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  const pick = <Item>(items: readonly Item[]): Item => {
    const item = items[below(items.length)];
    if (item === undefined) throw new RangeError('nothing to pick from');
    return item;
  };
  return { below, pick, chance: (percent) => below(100) < percent };
}
