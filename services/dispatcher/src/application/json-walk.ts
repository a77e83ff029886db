/** Looks at every text in a JSON value, member names included; without recursion, so that no nesting overflows a stack. */
export function someText(value: unknown, matches: (text: string) => boolean): boolean {
  const left = [value];
  while (left.length > 0) {
    const next = left.pop();
    if (typeof next === 'string') {
      if (matches(next)) return true;
    } else if (isContainer(next)) {
      if (!Array.isArray(next) && Object.keys(next).some(matches)) return true;
      for (const member of Object.values(next)) left.push(member);
    }
  }
  return false;
}

/** Whether objects and arrays are nested in more than `limit` levels. */
export function isDeeperThan(value: unknown, limit: number): boolean {
  let level = [value].filter(isContainer);
  for (let depth = 0; depth < limit && level.length > 0; depth += 1)
    level = level.flatMap((one) => Object.values(one).filter(isContainer));
  return level.length > 0;
}

function isContainer(value: unknown): value is object {
  return value !== null && typeof value === 'object';
}
