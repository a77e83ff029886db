/** A presigned request: what the holder of the address has to send along. */
export interface PresignedPut {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The object store. Objects are immutable; keys below `incoming/` are what somebody else wrote and nobody has checked.
 * Every method throws CodedError `storage_failed` when the store fails or does not answer in time.
 */
export interface ObjectStore {
  /** Writes a small object of ours. Writing the same key again with the same bytes is harmless. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** Null when there is no such object. The stream ends or fails in bounded time; `bytes` is the store's word. */
  get(key: string): Promise<{ readonly bytes: number; readonly body: AsyncIterable<Uint8Array> } | null>;
  /** Removes an object; one that is not there is removed already. */
  remove(key: string): Promise<void>;
  /** Length in bytes, or null when there is no such object. */
  size(key: string): Promise<number | null>;
  /** An address for one PUT of exactly these bytes; length and checksum are part of the signature. */
  presignPut(key: string, content: { sha256: string; bytes: number }, seconds: number): Promise<PresignedPut>;
  presignGet(key: string, seconds: number): Promise<string>;
  /**
   * Reads `from`, checks length and digest, copies it to `to` and removes `from`.
   * @returns what was found instead when it is not what was announced; then `from` is removed and `to` not written
   */
  adopt(
    from: string,
    to: string,
    content: { sha256: string; bytes: number },
  ): Promise<'adopted' | 'missing' | 'mismatch'>;
}

/**
 * How every key begins. What lies below each, and what ends it, is said in `retention/where-words-lie.ts`: a store takes no
 * other key, so that nothing lies where no rule reaches it.
 */
export const keyPrefixes = ['projects/', 'content/', 'incoming/'] as const;

/** The content-addressed key of an object in a project. */
export function objectKey(projectId: string, sha256: string): string {
  // Some stores keep keys as paths: no name of a project may climb out of its folder.
  const folder = encodeURIComponent(projectId).replaceAll('.', '%2E');
  return `projects/${folder}/objects/${sha256}`;
}
