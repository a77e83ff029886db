import { createHash } from 'node:crypto';

/** Ids of tool calls within one session, made from the model's own. */
export interface CallIds {
  /** The id as it came, unless it is too long or was used before (a repeated exchange, a careless provider). */
  claim(toolUseId: string): string;
  used(): string[];
}

/** @param known ids that were used before a pause */
export function createCallIds(known: readonly string[] = []): CallIds {
  const used = new Set<string>(known);
  return {
    claim: (toolUseId) => {
      const short = /^[A-Za-z0-9_.-]{1,100}$/.test(toolUseId)
        ? toolUseId
        : createHash('sha256').update(toolUseId).digest('hex');
      let id = short;
      for (let count = 2; used.has(id); count += 1) id = `${short}.${count}`;
      used.add(id);
      return id;
    },
    used: () => [...used],
  };
}
