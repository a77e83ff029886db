import { createHash } from 'node:crypto';

/** Ids of tool calls within one attempt, made from the model's own. */
export interface CallIds {
  /** The id as it came, unless it is too long or was used before (a repeated exchange, a careless provider). */
  claim(toolUseId: string): string;
}

export function createCallIds(): CallIds {
  const used = new Set<string>();
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
  };
}
