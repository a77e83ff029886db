import { openNote } from '@lemniscate/shared/audit/checkpoint.ts';
import type { Checkpoint, LogKey } from '@lemniscate/shared/audit/checkpoint.ts';
import { acceptRotation, logChain } from '@lemniscate/shared/audit/log-chain.ts';
import { leafHash, verifyConsistency, verifyInclusion } from '@lemniscate/shared/audit/merkle.ts';
import {
  checkpointsPageSchema,
  consistencyProofSchema,
  inclusionProofSchema,
} from '@lemniscate/shared/audit/proof-api.ts';
import { entriesPageSchema } from '@lemniscate/shared/audit/stored-entry.ts';
import type { EntriesPage, StoredEntry } from '@lemniscate/shared/audit/stored-entry.ts';
import { chainFault } from '@lemniscate/shared/audit/verify.ts';
import type { ChainFault } from '@lemniscate/shared/audit/verify.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import type { AuditVerifyIo } from './audit-verify.ts';

type Api = Pick<AuditVerifyIo, 'fetchJson'>;

/** An entry whose digest was recomputed here: never the one that the API tells beside a proof. */
export interface ProvedEntry {
  readonly chain: string;
  readonly seq: number;
  readonly digest: Uint8Array;
  /** RFC 3339, from the bytes that the digest is of. */
  readonly at: string;
}

/**
 * How much younger than an entry a checkpoint may be that does not cover it: entries get their place in the log after
 * their commit, from an exporter with a clock of its own.
 */
const placedWithinMs = 60_000;

/** What the proofs of one entry show; `covered` is the size of the signed log that has it. */
export interface Proved {
  readonly fault: ChainFault | null;
  readonly covered: number;
}

/**
 * Asks the API for the last checkpoint and for proofs, and verifies both here. An entry that has come since
 * the last checkpoint is not covered yet, which is no fault; an older one has been left out.
 * @param anchor a note from outside; null: none
 */
export async function proveOnline(
  api: Api,
  first: LogKey,
  entry: ProvedEntry,
  anchor: string | null,
): Promise<Proved> {
  const keys = await learnKeys(api, first);
  const signed = await lastCheckpoint(api, keys);
  if (signed === null) return { fault: chainFault('checkpoint', 0, 'checkpoint_forged'), covered: 0 };
  const known = anchor === null ? null : openAny(anchor, keys);
  if (anchor !== null && known === null)
    return { fault: chainFault('checkpoint', 0, 'checkpoint_forged', ' (the anchor)'), covered: 0 };
  const growth = known === null ? null : await checkGrowth(api, known, signed);
  if (growth !== null) return { fault: growth, covered: 0 };
  return checkEntry(api, entry, signed);
}

async function checkGrowth(api: Api, earlier: Checkpoint, later: Checkpoint): Promise<ChainFault | null> {
  if (earlier.size > later.size || earlier.number > later.number)
    return chainFault('checkpoint', earlier.number, 'log_cut', ` (${earlier.size}, not ${later.size})`);
  const path = `/v1/audit/proofs/consistency?from=${earlier.size}&to=${later.size}`;
  const proof = await api.fetchJson(path, consistencyProofSchema);
  if (verifyConsistency(earlier, later, fromHex(proof.path))) return null;
  return chainFault('checkpoint', earlier.number, 'inconsistent');
}

async function checkEntry(
  api: Api,
  { chain, seq, digest, at }: ProvedEntry,
  signed: Checkpoint,
): Promise<Proved> {
  const name = encodeURIComponent(chain);
  const path = `/v1/audit/proofs/inclusion?chain=${name}&seq=${seq}&size=${signed.size}`;
  const proof = await api.fetchJson(path, inclusionProofSchema).catch((error: unknown) => {
    if (isCodedError(error, 'not_found')) return null;
    throw error;
  });
  if (proof === null) {
    const isYoung = Date.parse(signed.at) - Date.parse(at) <= placedWithinMs;
    const more = ` (checkpoint ${signed.number}, ${signed.at})`;
    return { fault: isYoung ? null : chainFault(chain, seq, 'not_covered', more), covered: 0 };
  }
  const holds = verifyInclusion(leafHash(digest), proof.index, signed, fromHex(proof.path));
  return holds
    ? { fault: null, covered: signed.size }
    : { fault: chainFault(chain, seq, 'not_included'), covered: 0 };
}

async function lastCheckpoint(api: Api, keys: readonly LogKey[]): Promise<Checkpoint | null> {
  const { last } = await api.fetchJson('/v1/audit/checkpoints?limit=1', checkpointsPageSchema);
  if (last === null) return null;
  const path = `/v1/audit/checkpoints?after=${last - 1}&limit=1`;
  const { checkpoints } = await api.fetchJson(path, checkpointsPageSchema);
  return openAny(checkpoints[0]?.note ?? '', keys);
}

/** The given key and those that the log was handed over to, each agreed to by the one before. */
async function learnKeys(api: Api, first: LogKey): Promise<LogKey[]> {
  const keys = [first];
  for (let after: number | null = 0; after !== null;) {
    const path: string = `/v1/audit/chains/${encodeURIComponent(logChain)}/entries?after=${after}&limit=1000`;
    const page: EntriesPage | null = await api.fetchJson(path, entriesPageSchema).catch((error: unknown) => {
      // a log that has nothing to say of itself yet
      if (isCodedError(error, 'not_found')) return null;
      throw error;
    });
    for (const entry of page?.entries ?? []) {
      const next =
        entry.type === 'log.key_rotated' ? acceptRotation(bodyOf(entry), keys.at(-1) ?? first) : null;
      if (next !== null) keys.push(next);
    }
    after = page?.nextAfter ?? null;
  }
  return keys;
}

const openAny = (note: string, keys: readonly LogKey[]): Checkpoint | null =>
  keys.map((key) => openNote(note, key)).find((checkpoint) => checkpoint !== null) ?? null;

const fromHex = (path: readonly string[]): Uint8Array[] => path.map((hash) => Buffer.from(hash, 'hex'));

function bodyOf({ body }: StoredEntry): unknown {
  const envelope = JSON.parse(Buffer.from(body, 'base64').toString()) as { body?: unknown };
  return envelope.body ?? null;
}
