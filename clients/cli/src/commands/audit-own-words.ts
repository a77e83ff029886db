import type { Checkpoint, LogKey } from '@lemniscate/shared/audit/checkpoint.ts';
import {
  acceptRotation,
  agreesWithRestore,
  logChain,
  readRestore,
} from '@lemniscate/shared/audit/log-chain.ts';
import type { LogRestore } from '@lemniscate/shared/audit/log-chain.ts';
import { entriesPageSchema } from '@lemniscate/shared/audit/stored-entry.ts';
import type { EntriesPage, StoredEntry } from '@lemniscate/shared/audit/stored-entry.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { AuditVerifyIo } from './audit-verify.ts';

/** What the log says of itself, as far as its keys have signed it. */
export interface OwnWords {
  /** The given key and those that the log was handed over to, each agreed to by the one before. */
  readonly keys: readonly LogKey[];
  /** Restores that the key of their place has signed. */
  readonly restores: readonly LogRestore[];
}

/** Reads the chain in which the log speaks of itself. What no key has signed says nothing, so its links need no walk. */
export async function readOwnWords(api: Pick<AuditVerifyIo, 'fetchJson'>, first: LogKey): Promise<OwnWords> {
  const keys = [first];
  const restores: LogRestore[] = [];
  for (let after: number | null = 0; after !== null;) {
    const path: string = `/v1/audit/chains/${encodeURIComponent(logChain)}/entries?after=${after}&limit=1000`;
    const page: EntriesPage | null = await api.fetchJson(path, entriesPageSchema).catch((error: unknown) => {
      // a log that has nothing to say of itself yet
      if (isCodedError(error, 'not_found')) return null;
      throw error;
    });
    for (const entry of page?.entries ?? []) {
      const current = keys.at(-1) ?? first;
      const next = entry.type === 'log.key_rotated' ? acceptRotation(bodyOf(entry), current) : null;
      if (next !== null) keys.push(next);
      const restore = entry.type === 'log.restored' ? readRestore(bodyOf(entry), current) : null;
      if (restore !== null) restores.push(restore);
    }
    after = page?.nextAfter ?? null;
  }
  return { keys, restores };
}

/**
 * The restore by whose words a checkpoint is of a history that was lost; null where none has lost it. It must be the
 * history that the restore cites.
 */
export function restoreThatLost(restores: readonly LogRestore[], known: Checkpoint): LogRestore | null {
  const hasLost = (restore: LogRestore): boolean =>
    known.number > restore.fromNumber &&
    known.number <= restore.anchorNumber &&
    known.epoch < restore.epoch &&
    agreesWithRestore(restore, known);
  return restores.find(hasLost) ?? null;
}

function bodyOf({ body }: StoredEntry): unknown {
  const envelope = JSON.parse(Buffer.from(body, 'base64').toString()) as { body?: unknown };
  return envelope.body ?? null;
}
