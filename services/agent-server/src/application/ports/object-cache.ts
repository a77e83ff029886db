/** Contents by their address on this machine's disk: what was pulled or pushed once is not moved again. */
export interface ObjectCache {
  /** The content; null when it is not here or is not what its address says. */
  read(sha256: string): Promise<Buffer | null>;
  /** Keeps a content. @returns its address and the file that holds it */
  keep(bytes: Buffer): Promise<{ readonly sha256: string; readonly file: string }>;
  /** Reads an address of the store and keeps what came. @throws CodedError `storage_failed`, `digest_mismatch` */
  pull(address: string, content: { sha256: string; bytes: number }, signal: AbortSignal): Promise<Buffer>;
  /** Removes what has not been used longest beyond the bound. */
  trim(): Promise<void>;
}
