import { openNote } from '@lemniscate/shared/audit/checkpoint.ts';
import type { Checkpoint, LogKey } from '@lemniscate/shared/audit/checkpoint.ts';
import type { LogRestore } from '@lemniscate/shared/audit/log-chain.ts';
import { leafHash, verifyConsistency, verifyInclusion } from '@lemniscate/shared/audit/merkle.ts';
import {
  checkpointsPageSchema,
  consistencyProofSchema,
  inclusionProofSchema,
} from '@lemniscate/shared/audit/proof-api.ts';
import { chainFault } from '@lemniscate/shared/audit/verify.ts';
import type { ChainFault } from '@lemniscate/shared/audit/verify.ts';
import { isCodedError } from '@lemniscate/shared/errors/coded-error.ts';
import { readOwnWords, restoreThatLost } from './audit-own-words.ts';
import type { OwnWords } from './audit-own-words.ts';
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
  /** Restores that the log tells of, signed by its key. */
  readonly restores: readonly LogRestore[];
}

/**
 * Asks the API for the last checkpoint and for proofs, and verifies both here. An entry that has come since
 * the last checkpoint is not covered yet, which is no fault; an older one has been left out. An anchor that a restore has
 * lost is excused by the entry that tells of the restore, when that cites the anchor's history: then the log must have
 * grown from what the backup had.
 * @param anchor a note from outside; null: none
 */
export async function proveOnline(
  api: Api,
  first: LogKey,
  entry: ProvedEntry,
  anchor: string | null,
): Promise<Proved> {
  const { keys, restores } = await readOwnWords(api, first);
  const broken = (fault: ChainFault): Proved => ({ fault, covered: 0, restores });
  const { last } = await api.fetchJson('/v1/audit/checkpoints?limit=1', checkpointsPageSchema);
  const signed = last === null ? null : await checkpointAt(api, last, keys);
  if (signed === null) return broken(chainFault('checkpoint', 0, 'checkpoint_forged'));
  const known = anchor === null ? null : openAny(anchor, keys);
  if (anchor !== null && known === null)
    return broken(chainFault('checkpoint', 0, 'checkpoint_forged', ' (the anchor)'));
  const epoch = signed.epoch > (known?.epoch ?? 0) ? signed.epoch : null;
  if (epoch !== null && !restores.some((restore) => restore.epoch === epoch))
    return broken(chainFault('checkpoint', signed.number, 'epoch_unexplained', ` (epoch ${epoch})`));
  const growth = known === null ? null : await checkHistory(api, known, signed, { keys, restores });
  if (growth !== null) return broken(growth);
  return { ...(await checkEntry(api, entry, signed)), restores };
}

/** The log has only grown since the anchor, or since what a backup had of it that a restore has gone on from. */
async function checkHistory(
  api: Api,
  known: Checkpoint,
  signed: Checkpoint,
  { keys, restores }: OwnWords,
): Promise<ChainFault | null> {
  const restore = restoreThatLost(restores, known);
  if (restore === null) return checkGrowth(api, known, signed);
  if (restore.fromNumber < 0) return null;
  const kept = await checkpointAt(api, restore.fromNumber, keys);
  if (kept === null) return chainFault('checkpoint', restore.fromNumber, 'checkpoint_forged');
  return checkGrowth(api, kept, signed);
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
): Promise<Pick<Proved, 'fault' | 'covered'>> {
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

/** The checkpoint of a number, when a key of the log has signed it. */
async function checkpointAt(api: Api, number: number, keys: readonly LogKey[]): Promise<Checkpoint | null> {
  const path = `/v1/audit/checkpoints?after=${number - 1}&limit=1`;
  const { checkpoints } = await api.fetchJson(path, checkpointsPageSchema);
  const opened = openAny(checkpoints[0]?.note ?? '', keys);
  return opened?.number === number ? opened : null;
}

const openAny = (note: string, keys: readonly LogKey[]): Checkpoint | null =>
  keys.map((key) => openNote(note, key)).find((checkpoint) => checkpoint !== null) ?? null;

const fromHex = (path: readonly string[]): Uint8Array[] => path.map((hash) => Buffer.from(hash, 'hex'));
