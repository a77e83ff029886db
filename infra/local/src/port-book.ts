import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { DataFolder } from './data-folder.ts';
import { freePort, requirePort } from './process/free-port.ts';
import type { PortClaim } from './process/free-port.ts';

/** Who listens where. */
export interface PortBook {
  /** Port of a part: the one that its variable sets, else the one of the last run, else a free one. */
  of(part: string, variable?: { readonly name: string; readonly value: number | undefined }): Promise<number>;
  /** Lets go of every port; another fleet may have them then. Safe to call twice. */
  close(): void;
}

/** Ports that are tried first, where people look for them. */
const customary: Readonly<Record<string, number>> = { api: 7420, internal: 7421 };

/** Opens the book of a data folder; what a run has chosen is kept, so that an address outlives a restart. */
export function openPortBook(data: DataFolder): PortBook {
  const file = data.path('ports.json');
  const known = readPorts(file);
  const claims: PortClaim[] = [];
  return {
    of: async (part, variable) => {
      const set = variable?.value;
      const claim =
        variable !== undefined && set !== undefined
          ? await requirePort(set, variable.name)
          : await freePort(known[part] ?? customary[part]);
      claims.push(claim);
      if (set !== undefined) return claim.port;
      known[part] = claim.port;
      writeFileSync(file, JSON.stringify(known));
      return claim.port;
    },
    close: () => {
      for (const claim of claims.splice(0)) claim.release();
    },
  };
}

/** A file that cannot be read as ports is as good as none: ports are chosen anew. */
function readPorts(file: string): Record<string, number> {
  if (!existsSync(file)) return {};
  try {
    const entries = Object.entries(JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>);
    return Object.fromEntries(
      entries.filter((entry): entry is [string, number] => Number.isInteger(entry[1])),
    );
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}
