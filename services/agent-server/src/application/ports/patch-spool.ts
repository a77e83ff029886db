import type { Held } from '@lemniscate/shared/protocol/identity.ts';

/** A session's patch between the diff and the dispatcher's word that it has it. */
export interface SpooledPatch {
  readonly file: string;
  readonly bytes: number;
  /** For small patches only; the caller knows the size. */
  read(): Promise<Buffer>;
  /** The result could not be handed over by its deadline: the patch stays for an operator. Returns where. */
  keep(): Promise<string>;
  /** Idempotent; does nothing after `keep`. */
  discard(): Promise<void>;
}

export interface PatchSpool {
  /** Takes a patch file over, out of the working copy's folder, which may then be removed. */
  take(held: Held, file: string): Promise<SpooledPatch>;
  /** Removes what an earlier process left, but not what was kept. */
  recover(): Promise<void>;
  /** Removes what was kept longer ago, and the oldest beyond a number. @returns their names */
  expire(bounds: { readonly maxAgeMs: number; readonly maxKept: number }): Promise<string[]>;
}

/** Sends a spooled patch to the presigned address. @throws CodedError `storage_failed` */
export type UploadObject = (
  file: string,
  bytes: number,
  put: { readonly url: string; readonly headers: Readonly<Record<string, string>> },
  signal: AbortSignal,
) => Promise<void>;
