/** Sessions of one tenant in the order of their queue keys: a heap of numbers. */
export interface WaitingLane {
  push(key: number, session: number): void;
  /** @returns the session that is next; -1: none waits */
  pop(): number;
  size(): number;
}

export function createWaitingLane(): WaitingLane {
  const keys: number[] = [];
  const sessions: number[] = [];
  const swap = (left: number, right: number): void => {
    [keys[left], keys[right]] = [keys[right] ?? 0, keys[left] ?? 0];
    [sessions[left], sessions[right]] = [sessions[right] ?? 0, sessions[left] ?? 0];
  };
  const isBefore = (left: number, right: number): boolean => {
    const [a, b] = [keys[left] ?? Infinity, keys[right] ?? Infinity];
    return a < b || (a === b && (sessions[left] ?? 0) < (sessions[right] ?? 0));
  };
  const sink = (): void => {
    for (let at = 0; ;) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2])
        if (child < keys.length && isBefore(child, least)) least = child;
      if (least === at) return;
      swap(at, least);
      at = least;
    }
  };
  return {
    push: (key, session) => {
      keys.push(key);
      sessions.push(session);
      for (let at = keys.length - 1; at > 0;) {
        const parent = (at - 1) >> 1;
        if (!isBefore(at, parent)) return;
        swap(at, parent);
        at = parent;
      }
    },
    pop: () => {
      const first = sessions[0];
      if (first === undefined) return -1;
      swap(0, keys.length - 1);
      keys.pop();
      sessions.pop();
      sink();
      return first;
    },
    size: () => keys.length,
  };
}
