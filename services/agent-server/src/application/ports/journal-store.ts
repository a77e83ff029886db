import type { Held } from '@lemniscate/shared/protocol/identity.ts';

/** One attempt's journal on disk: append-only segments, numbered from 1. */
export interface JournalFiles {
  /** Appends to a segment; resolves when the bytes are with the operating system. @throws CodedError `disk_full` */
  append(segment: number, bytes: Uint8Array): Promise<void>;
  read(segment: number, offset: number, length: number): Promise<Buffer>;
  /** Forgets a segment whose events are all acknowledged. */
  drop(segment: number): Promise<void>;
  /** Forgets the whole journal; idempotent. */
  remove(): Promise<void>;
}

/**
 * Where journals lie. Nothing is fsynced: a journal outlives neither the process nor the machine, because the
 * sandboxes do not either; a restarted server lets its sessions resume from their checkpoints.
 */
export interface JournalStore {
  open(held: Held): JournalFiles;
  /** Removes what an earlier process left. */
  recover(): Promise<void>;
}
