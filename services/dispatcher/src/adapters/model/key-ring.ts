import type { Clock } from '@lemniscate/shared/clock.ts';
import type { Secret } from '@lemniscate/shared/config/secret.ts';

/** Keys of one provider, taken in turn. A key that was refused or is at its limit rests. */
export interface KeyRing {
  /** The next key that does not rest; when all rest, the one that is rested first. Null: the provider needs none. */
  next(): Secret | null;
  /** Lets a key rest for the time, in milliseconds. */
  rest(key: Secret, ms: number): void;
  /** Whether a key is there that does not rest. */
  hasRested(): boolean;
}

export function createKeyRing(keys: readonly Secret[], clock: Clock): KeyRing {
  const restsUntil = new Map<Secret, number>();
  let turn = 0;
  const wakesAt = (key: Secret): number => restsUntil.get(key) ?? 0;
  const isAwake = (key: Secret): boolean => wakesAt(key) <= clock.monotonicMs();
  return {
    next: () => {
      const inOrder = keys.map((_key, index) => keys[(turn + index) % keys.length] as Secret);
      turn += 1;
      const earliest = [...inOrder].sort((left, right) => wakesAt(left) - wakesAt(right))[0];
      return inOrder.find(isAwake) ?? earliest ?? null;
    },
    rest: (key, ms) => void restsUntil.set(key, clock.monotonicMs() + ms),
    hasRested: () => keys.some(isAwake),
  };
}
