import type { SignedCheckpoint } from '@lemniscate/shared/audit/checkpoint.ts';
import type { AuditDraft } from '@lemniscate/shared/audit/entry.ts';
import type { Frontier, TreeNode } from '@lemniscate/shared/audit/merkle.ts';

/** A checkpoint's row: what is signed, or will be. */
export interface SealRow {
  readonly number: number;
  readonly epoch: number;
  readonly root: Uint8Array;
  readonly frontier: Frontier;
  /** RFC 3339. */
  readonly at: string;
  /** Null until it is signed. */
  readonly note: string | null;
}

/** The seal over the log, as the exporter sees it. */
export interface SealStore {
  /** The log's name in its checkpoints. */
  origin(): Promise<string>;
  /** Public keys, the first one first. */
  keys(): Promise<string[]>;
  /** The key that signs a checkpoint of this size; null before the log has one. */
  keyFor(size: number): Promise<string | null>;
  /** Makes a key the log's first. A second first one is refused. */
  addFirstKey(key: string): Promise<void>;
  /** Hands the log over to a key: entry and key in one transaction. */
  rotateKey(key: string, entry: AuditDraft): Promise<void>;
  /** Appends to the chain in which the log speaks of itself. */
  append(entry: AuditDraft): Promise<void>;
  /** Index of the last entry of that chain; null where it has none yet. */
  lastOwnIndex(): Promise<number | null>;
  last(): Promise<SealRow | null>;
  /** The last one that has a signature; whose it is, is not looked at. */
  lastSigned(): Promise<SealRow | null>;
  /** Digests of entries from an index on, in order. */
  digests(from: number, limit: number): Promise<Uint8Array[]>;
  /** Commits a checkpoint and the nodes of the tree that are new with it. @throws when its number is taken */
  seal(row: SealRow, nodes: readonly { readonly node: TreeNode; readonly hash: Uint8Array }[]): Promise<void>;
  publish(number: number, note: string): Promise<void>;
  /** Signed checkpoints from a number on that cover no more than `size` entries. */
  published(from: number, size: number, limit: number): Promise<SignedCheckpoint[]>;
  /** First checkpoint that the sink has not proved to have. */
  anchorCursor(sink: string): Promise<number>;
  advanceAnchor(sink: string, next: number): Promise<void>;
  /** Sets an entry aside that a receiver refuses for good, and tells it in the log where there is an entry for it; once for each. */
  setAside(sink: string, index: number, reason: string, entry: AuditDraft | null): Promise<void>;
}
