import type { ChainHead } from '@lemniscate/shared/audit/chain.ts';

/** Most chains: some 300 bytes each. */
const most = 5_000;

/** The ends of chains as this process last wrote them, the longest unused forgotten first. */
export interface HeadsSeen {
  get(chain: string): ChainHead | undefined;
  set(chain: string, head: ChainHead): void;
  delete(chain: string): void;
}

/**
 * A guess and no more: another process may have written since, or the transaction that wrote may have rolled back. So
 * whoever uses it inserts on the condition that the chain still ends there, number and digest.
 */
export function createHeadsSeen(): HeadsSeen {
  const heads = new Map<string, ChainHead>();
  return {
    get: (chain) => heads.get(chain),
    set: (chain, head) => {
      // a Map keeps the order of insertion
      heads.delete(chain);
      heads.set(chain, head);
      if (heads.size <= most) return;
      const [oldest] = heads.keys();
      if (oldest !== undefined) heads.delete(oldest);
    },
    delete: (chain) => {
      heads.delete(chain);
    },
  };
}
